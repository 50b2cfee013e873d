/**
 * Reads settings of dnsmasq, dnsmasq(8): its own file, files of Pi-hole's dnsmasq.d, and Pi-hole's
 * misc.dnsmasq_lines. What answers or sends names elsewhere is taken; what is about DHCP, sockets
 * and the cache is not, and what would be missed is named.
 */
import { ImportDraft } from '../draft/draft.ts';
import { reverseZones } from './reverse-zones.ts';
import {
  addressType,
  commaParts,
  dnsmasqServer,
  isSinkhole,
  linesOf,
  withoutComment,
} from '../draft/values.ts';

/** Lines that only a file of dnsmasq's has. */
const TELLING =
  /^(?:address=\/|server=\/|local=\/|rev-server=|host-record=|cname=|ptr-record=|bogus-nxdomain=|dhcp-range=|no-resolv$|bogus-priv$|domain-needed$|expand-hosts$|listen-address=|conf-dir=|addn-hosts=|server=[0-9a-f.:]+)/;

/** @param head  the file's beginning */
export function isDnsmasq(head: string): boolean {
  return head.split('\n').some((line) => TELLING.test(line.trim()));
}

export function readDnsmasq(content: string): ImportDraft {
  const draft = new ImportDraft('dnsmasq');
  takeDnsmasq(content, draft);
  return draft;
}

export function takeDnsmasq(content: string, draft: ImportDraft): void {
  for (const line of linesOf(content, (why) => draft.skip('other', '', why))) {
    const setting = withoutComment(line);
    if (setting === '') continue;
    const cut = setting.indexOf('=');
    const key = (cut < 0 ? setting : setting.slice(0, cut)).trim();
    const value = cut < 0 ? '' : setting.slice(cut + 1).trim();
    const take = Object.hasOwn(READERS, key) ? READERS[key] : undefined;
    if (take) take(value, draft, setting);
    else if (!WITHOUT_MEANING.test(key)) draft.skip('other', setting, whyNot(key));
  }
}

type Reader = (value: string, draft: ImportDraft, line: string) => void;

const READERS: Readonly<Record<string, Reader>> = {
  address: takeAddress,
  server: takeServer,
  local: takeServer,
  'rev-server': (value, draft, line) => {
    const [network = '', server = ''] = commaParts(value);
    const zones = reverseZones(network);
    if (zones.length === 0) draft.skip('upstreams', line, 'it is no network');
    for (const zone of zones) draft.addUpstream(serverOf(server), draft.suffixServers(zone));
  },
  cname: takeAlias,
  'host-record': (value, draft) => {
    takeHostRecord(value, draft);
  },
  'ptr-record': (value, draft) => {
    const [name = '', target = ''] = commaParts(value);
    draft.addRecord(name, 'PTR', target);
  },
  'txt-record': (value, draft) => {
    const [name = '', ...parts] = commaParts(value);
    draft.addRecord(name, 'TXT', parts.join(','));
  },
  'mx-host': (value, draft) => {
    const [name = '', target = name, preference = '1'] = commaParts(value);
    draft.addRecord(name, 'MX', `${preference} ${target}`);
  },
  'srv-host': (value, draft) => {
    const [name = '', target = '.', port = '1', priority = '0', weight = '0'] = commaParts(value);
    draft.addRecord(name, 'SRV', `${priority} ${weight} ${port} ${target}`);
  },
  'bogus-nxdomain': (value, draft, line) => {
    if (addressType(value) === '') draft.skip('rules', line, 'only single addresses can be taken');
    else draft.addRule(`||${value}^`);
  },
  'strict-order': (_value, draft) => {
    draft.strategy = 'in-order';
  },
  'all-servers': (_value, draft) => {
    draft.strategy = 'race';
  },
  'filter-AAAA': (_value, draft) => {
    draft.addRule('*$dnstype=AAAA,dnsrewrite=NOERROR,wide');
  },
  'filter-A': (_value, draft) => {
    draft.addRule('*$dnstype=A,dnsrewrite=NOERROR,wide');
  },
};

/** What has no effect on which answer a name gets, or one that Sluice has by itself. */
const WITHOUT_MEANING =
  /^(?:port|listen-address|interface|except-interface|bind-interfaces|bind-dynamic|user|group|pid-file|no-daemon|cache-size|no-negcache|log-.*|min-port|max-port|edns-packet-max|domain-needed|bogus-priv|no-resolv|no-poll|no-hosts|stop-dns-rebind|rebind-localhost-ok|localise-queries|dns-forward-max|min-cache-ttl|max-cache-ttl|max-ttl|query-port|use-stale-cache|clear-on-reload|local-service|except-interface|dns-loop-detect|fast-dns-retry|enable-dbus|enable-ubus|quiet-.*)$/;

function whyNot(key: string): string {
  if (/^(?:dhcp-|enable-ra|ra-|enable-tftp|tftp-|pxe-|read-ethers)/.test(key)) {
    return 'Sluice gives no addresses by DHCP';
  }
  if (/^(?:conf-file|conf-dir|addn-hosts|hostsdir|servers-file|resolv-file)$/.test(key)) {
    return 'other files are not read: import them, too';
  }
  return `${key} has no equal here`;
}

/** "/name/name/value"; an empty name stands for names without a dot. */
function split(value: string): { names: string[]; target: string } | null {
  if (!value.startsWith('/')) return null;
  const parts = value.slice(1).split('/');
  return { target: parts.pop()?.trim() ?? '', names: parts };
}

/** Names and all below them get an address; none, "#" and sinkholes block them. */
function takeAddress(value: string, draft: ImportDraft, line: string): void {
  const parts = split(value);
  if (!parts) {
    draft.skip('records', line, 'it cannot be read');
    return;
  }
  const { names, target } = parts;
  const type = addressType(target);
  for (const written of names) {
    if (written === '#' || written === '') {
      draft.skip('records', line, 'an answer for every name is not taken');
    } else if (target === '' || target === '#' || isSinkhole(target)) takeBlock(written, draft);
    else if (type === '') draft.skip('records', line, 'it is no address');
    else if (written.startsWith('*.')) draft.addRecord(written, type, target);
    else draft.addSubtree(written.replace(/^\./, ''), type, target);
  }
}

/** "*.x" is only what is below x. */
function takeBlock(written: string, draft: ImportDraft): void {
  const name = written.replace(/^\*?\./, '').replace(/\.$/, '');
  const wide = name.includes('.') ? '' : '$wide';
  draft.addRule(`||${name}^${wide}`);
  if (written.startsWith('*.')) draft.addRule(`@@|${name}^${wide}`);
}

/** "server", "/name/server", "/name/" (known here or nowhere), "/name/#" (as all others). */
function takeServer(value: string, draft: ImportDraft, line: string): void {
  const parts = split(value);
  if (!parts) {
    if (value !== '') draft.addUpstream(serverOf(value));
    return;
  }
  for (const written of parts.names) {
    const name = written.replace(/^\*?\./, '');
    if (name === '' || name === '#') {
      draft.skip('upstreams', line, 'names without a dot have no servers of their own here');
    } else if (parts.target === '#') draft.defaultSuffixes.push(name);
    else if (parts.target === '') takeBlock(name, draft);
    else draft.addUpstream(serverOf(parts.target), draft.suffixServers(name));
  }
}

/** "address#port@source": the source is not taken. */
function serverOf(text: string): string {
  return dnsmasqServer(text.replace(/@.*$/, ''));
}

/** "alias[,alias...],target[,TTL]" */
export function takeAlias(value: string, draft: ImportDraft): void {
  const parts = commaParts(value);
  const ttl = /^\d+$/.test(parts.at(-1) ?? '') ? Number(parts.pop()) : undefined;
  const target = parts.pop() ?? '';
  for (const alias of parts) draft.addRecord(alias, 'CNAME', target, ttl);
}

/** "name[,name...][,IPv4][,IPv6][,TTL]" */
function takeHostRecord(value: string, draft: ImportDraft): void {
  const parts = commaParts(value);
  const ttl = /^\d+$/.test(parts.at(-1) ?? '') ? Number(parts.pop()) : undefined;
  const addresses = parts.filter((part) => addressType(part) !== '');
  for (const name of parts.filter((part) => addressType(part) === '')) {
    for (const address of addresses) {
      const type = addressType(address);
      if (type !== '') draft.addRecord(name, type, address, ttl);
    }
  }
}
