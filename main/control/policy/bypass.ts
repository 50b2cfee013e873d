/**
 * Names by which programs go past this filter: public DNS servers over HTTPS and TLS, and relays.
 * Each means what is below it, too. Used by services-table.ts when bypass.block is set.
 *
 * The canary of browsers (use-application-dns.net) and the question for designated resolvers
 * (_dns.resolver.arpa) are answered by steps/special-names.ts anyway.
 */

/** Of those who ask for a negative answer: everything else makes their clients wait. */
export const RELAY_NAMES: readonly string[] = [
  ...['mask.icloud.com', 'mask-h2.icloud.com', 'mask-canary.icloud.com'],
];

/** Host names of public encrypted DNS. */
export const ENCRYPTED_DNS_NAMES: readonly string[] = [
  // Cloudflare
  ...['cloudflare-dns.com', 'one.one.one.one', '1dot1dot1dot1.cloudflare-dns.com'],
  ...['cloudflare-gateway.com', 'dns.cloudflare.com'],
  // Google
  ...['dns.google', 'dns.google.com', 'dns64.dns.google', '8888.google'],
  // Quad9
  ...['dns.quad9.net', 'dns9.quad9.net', 'dns10.quad9.net', 'dns11.quad9.net', 'dns12.quad9.net'],
  // Cisco
  ...['doh.opendns.com', 'doh.familyshield.opendns.com', 'doh.sandbox.opendns.com'],
  ...['dns.opendns.com', 'dns.umbrella.com', 'doh.umbrella.com'],
  // AdGuard
  ...['dns.adguard.com', 'dns-family.adguard.com', 'dns-unfiltered.adguard.com'],
  ...['dns.adguard-dns.com', 'family.adguard-dns.com', 'unfiltered.adguard-dns.com'],
  ...['d.adguard-dns.com'],
  // NextDNS, Control D, CleanBrowsing, Mullvad
  ...[
    'dns.nextdns.io',
    'anycast.dns.nextdns.io',
    'firefox.dns.nextdns.io',
    'chrome.dns.nextdns.io',
  ],
  ...['freedns.controld.com', 'dns.controld.com', 'doh.cleanbrowsing.org'],
  ...['dns.mullvad.net', 'adblock.dns.mullvad.net', 'base.dns.mullvad.net', 'all.dns.mullvad.net'],
  ...['extended.dns.mullvad.net', 'family.dns.mullvad.net', 'doh.mullvad.net'],
  // Providers of network access
  ...['doh.xfinity.com', 'doh.comcast.net', 'dns.cox.net', 'doh.charter.com'],
  ...['dns.telekom.de', 'dns.shaw.ca', 'private.canadianshield.cira.ca', 'canadianshield.cira.ca'],
  // Europe
  ...['dns0.eu', 'zero.dns0.eu', 'kids.dns0.eu', 'open.dns0.eu', 'joindns4.eu', 'dns4.eu'],
  ...['doh.dns.sb', 'dns.sb', 'doh.sb', 'dns.digitale-gesellschaft.ch', 'dns.switch.ch'],
  ...['doh.libredns.gr', 'doh.libredns.org', 'dnsforge.de', 'doh.ffmuc.net', 'dot.ffmuc.net'],
  ...['unicast.censurfridns.dk', 'anycast.censurfridns.dk', 'odvr.nic.cz', 'dns.njal.la'],
  ...['doh.applied-privacy.net', 'dns.brahma.world', 'doh.appliedprivacy.net', 'ordns.he.net'],
  ...['doh.restena.lu', 'ns0.fdn.fr', 'ns1.fdn.fr', 'resolver.dnsprivacy.org.uk', 'dns.belnet.be'],
  ...['dns.artikel10.org', 'dns.aa.net.uk', 'doh.la.ahadns.net', 'doh.nl.ahadns.net'],
  // Asia and elsewhere
  ...['dns.alidns.com', 'doh.pub', 'dns.pub', 'dot.pub', 'doh.360.cn', 'dot.360.cn'],
  ...['public.dns.iij.jp', 'dns.twnic.tw', '101.101.101.101.dns.twnic.tw', 'jp.tiar.app'],
  ...['doh.tiar.app', 'doh.tiarap.org', 'dns.oszx.co', 'dns.pumplex.com', 'dns.rubyfish.cn'],
  ...['common.dot.dns.yandex.net', 'safe.dot.dns.yandex.net', 'family.dot.dns.yandex.net'],
  ...['rdns.faelix.net', 'blitz.ahadns.com', 'rethinkdns.com', 'max.rethinkdns.com'],
  ...['sky.rethinkdns.com', 'basic.rethinkdns.com', 'dns.decloudus.com', 'wikimedia-dns.org'],
  ...['dns.comss.one', 'router.comss.one', 'doh.crypto.sx', 'odoh.crypto.sx', 'doh.seby.io'],
  // Apple and browsers
  ...['doh.dns.apple.com', 'doh.dns.apple.com.v.aaplimg.com', 'trr.dns.nextdns.io'],
];
