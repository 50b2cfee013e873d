/**
 * Takes over the settings of Pi-hole itself: pihole.toml of version 6, setupVars.conf and
 * pihole-FTL.conf of version 5. Used by pi-hole.ts.
 */
import { parse as parseToml } from 'smol-toml';
import { AppError } from '../../../contract/errors.ts';
import { takeAlias, takeDnsmasq } from './dnsmasq.ts';
import type { ImportDraft } from '../draft/draft.ts';
import { takeHosts } from './hosts.ts';
import { reverseZones } from './reverse-zones.ts';
import { commaParts, dnsmasqServer, fields, isSet, linesOf, text, texts } from '../draft/values.ts';
import type { Fields } from '../draft/values.ts';

const NO_DHCP = 'Sluice gives no addresses by DHCP';
const NO_DNSSEC = 'Sluice passes DNSSEC on and leaves validation to the upstream';

/** Whether a text is pihole.toml: section [dns] behind a few lines of comments. */
export function isToml(head: string): boolean {
  return /^\[dns\][ \t]*\r?$/m.test(head.slice(0, 65_536));
}

/** Section [dns] of pihole.toml, and what of other sections bears on it. */
export function takeToml(
  content: string,
  draft: ImportDraft,
): { readonly readsDnsmasqFolder: boolean } {
  const settings = tomlFields(content);
  const dns = fields(settings['dns']);
  for (const server of texts(dns['upstreams'])) draft.addUpstream(dnsmasqServer(server));
  takeHosts(texts(dns['hosts']).join('\n'), draft);
  for (const alias of texts(dns['cnameRecords'])) takeAlias(alias, draft);
  for (const line of texts(dns['revServers'])) takeRevServer(line, draft);
  takeBlocking(fields(dns['blocking']), draft);
  if (isSet(dns['dnssec'])) draft.skip('other', 'dns.dnssec', NO_DNSSEC);
  if (isSet(fields(settings['dhcp'])['active'])) draft.skip('other', 'dhcp', NO_DHCP);
  const misc = fields(settings['misc']);
  takeDnsmasq(texts(misc['dnsmasq_lines']).join('\n'), draft);
  return { readsDnsmasqFolder: isSet(misc['etc_dnsmasq_d']) };
}

function takeBlocking(blocking: Fields, draft: ImportDraft): void {
  if (blocking['active'] === false) {
    draft.skip('other', 'dns.blocking.active', 'blocking is switched off there; here it is on');
  }
  takeMode(text(blocking['mode']), draft);
}

const MODES = {
  NULL: 'null-address',
  NXDOMAIN: 'nxdomain',
  NODATA: 'nodata',
  NX: 'nxdomain',
} as const;

/** IP and IP_NODATA_AAAA answer with the address of Pi-hole's own web page. */
function takeMode(mode: string, draft: ImportDraft): void {
  const key = mode.toUpperCase();
  if (key === '') return;
  if (Object.hasOwn(MODES, key)) draft.blocking = { answer: MODES[key as keyof typeof MODES] };
  else draft.skip('blocking', mode, 'blocked names are not answered with an own address here');
}

/** "<enabled>,<network>[/<prefix>],<server>[#<port>][,<domain>]" */
function takeRevServer(line: string, draft: ImportDraft): void {
  const [enabled, network = '', server = '', domain = ''] = commaParts(line);
  if (!isSet(enabled)) draft.skip('upstreams', line, 'it is switched off in Pi-hole');
  else takeConditional(network, server, domain, draft);
}

/** Names of a network, and of a domain, are known by a server of their own. */
function takeConditional(
  network: string,
  server: string,
  domain: string,
  draft: ImportDraft,
): void {
  const zones = reverseZones(network);
  if (network !== '' && zones.length === 0) {
    draft.skip('upstreams', network, 'it is no network');
  }
  for (const suffix of [...zones, ...(domain === '' ? [] : [domain])]) {
    draft.addUpstream(dnsmasqServer(server), draft.suffixServers(suffix));
  }
}

export function isSetupVars(head: string): boolean {
  return /^(?:PIHOLE_DNS_1|PIHOLE_INTERFACE|BLOCKING_ENABLED|REV_SERVER)=/m.test(head);
}

export function takeSetupVars(content: string, draft: ImportDraft): void {
  const values = assignments(content);
  for (const [key, value] of values) {
    if (/^PIHOLE_DNS_\d+$/.test(key)) draft.addUpstream(dnsmasqServer(value));
  }
  if (isSet(values.get('DHCP_ACTIVE'))) draft.skip('other', 'DHCP', NO_DHCP);
  if (isSet(values.get('DNSSEC'))) draft.skip('other', 'DNSSEC', NO_DNSSEC);
  if (values.get('BLOCKING_ENABLED') === 'false') {
    draft.skip('other', 'BLOCKING_ENABLED', 'blocking is switched off there; here it is on');
  }
  takeReverse(values, draft);
}

/** Conditional forwarding, by its names since version 5.1 and its older ones. */
function takeReverse(values: ReadonlyMap<string, string>, draft: ImportDraft): void {
  const value = (...keys: string[]): string =>
    keys.map((key) => values.get(key) ?? '').find((found) => found !== '') ?? '';
  const isNew = values.has('REV_SERVER');
  if (!isSet(value(isNew ? 'REV_SERVER' : 'CONDITIONAL_FORWARDING'))) return;
  const server = value('REV_SERVER_TARGET', 'CONDITIONAL_FORWARDING_IP');
  const domain = value('REV_SERVER_DOMAIN', 'CONDITIONAL_FORWARDING_DOMAIN');
  const reverse = value('CONDITIONAL_FORWARDING_REVERSE');
  takeConditional(value('REV_SERVER_CIDR'), server, domain, draft);
  if (!isNew && reverse !== '')
    draft.addUpstream(dnsmasqServer(server), draft.suffixServers(reverse));
  draft.skip('upstreams', server, 'names without a dot are not asked there');
}

export function takeFtlConf(content: string, draft: ImportDraft): void {
  takeMode(assignments(content).get('BLOCKINGMODE') ?? '', draft);
}

/** Lines "KEY=value". */
function assignments(content: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const line of linesOf(content, () => undefined)) {
    const cut = line.indexOf('=');
    if (cut > 0 && !line.startsWith('#')) {
      found.set(line.slice(0, cut).trim(), line.slice(cut + 1).trim());
    }
  }
  return found;
}

function tomlFields(content: string): Fields {
  try {
    return parseToml(content);
  } catch {
    throw new AppError('IMPORT_REFUSED', 'its file pihole.toml is not valid TOML');
  }
}
