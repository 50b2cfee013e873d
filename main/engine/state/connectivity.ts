/**
 * The names by which systems and browsers find out whether there is an internet. A list that names
 * one makes Windows say "No Internet" and phones leave the network, so lists do not apply to them;
 * the user's own rules do. Read by steps/filter.ts and explain.ts.
 *
 * Only whole names count: what lies below, or beside, is none of these.
 */
import { SuffixSet } from '../../dns/suffix-set.ts';

export const CONNECTIVITY_NAME_LIST: readonly string[] = [
  // Windows, Network Connectivity Status Indicator. dns.msftncsi.com has a unique-local AAAA.
  'www.msftncsi.com',
  'ipv6.msftncsi.com',
  'dns.msftncsi.com',
  'www.msftconnecttest.com',
  'ipv6.msftconnecttest.com',
  // Apple
  'captive.apple.com',
  'gsp1.apple.com',
  'www.appleiphonecell.com',
  'www.itools.info',
  'www.ibook.info',
  'www.airport.us',
  'www.thinkdifferent.us',
  // Android and Chrome
  'connectivitycheck.gstatic.com',
  'connectivitycheck.android.com',
  'clients3.google.com',
  'play.googleapis.com',
  'www.gstatic.com',
  // Firefox
  'detectportal.firefox.com',
  // NetworkManager, as distributions set it up
  'nmcheck.gnome.org',
  'network-test.debian.org',
  'fedoraproject.org',
  'ping.archlinux.org',
  'conncheck.opensuse.org',
  'connectivity-check.ubuntu.com',
  'networkcheck.kde.org',
];

export const CONNECTIVITY_NAMES = new SuffixSet(CONNECTIVITY_NAME_LIST);
