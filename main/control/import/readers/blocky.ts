/**
 * Reads blocky's configuration, with the present names of its keys and the older ones. Called by
 * import-file.ts; its groups are in blocky-groups.ts.
 */
import { takeBlocking } from './blocky-groups.ts';
import { ImportDraft } from '../draft/draft.ts';
import {
  addressType,
  commaParts,
  durationSeconds,
  fields,
  linesOf,
  text,
  texts,
} from '../draft/values.ts';
import { words, type Fields } from '../draft/values.ts';
import { fullName, readRecord, readTtl } from './zone-text.ts';

const KEYS = ['upstreams', 'upstream', 'blocking', 'customDNS', 'conditional', 'bootstrapDns'];
/** Sections that are read, or say nothing about answers; others are named. */
const READ = new Set([
  ...[...KEYS, 'clientLookup', 'filtering', 'disableIPv6', 'log', 'logLevel', 'logFormat'],
  ...['ports', 'port', 'httpPort', 'httpsPort', 'httpsCertFile', 'httpsKeyFile'],
  ...['certFile', 'keyFile', 'minTlsServeVersion', 'prometheus', 'upstreamTimeout'],
]);
/** Of customDNS.customTTL, when it is not set. */
const TTL_SECONDS = 3_600;

/** Whether a YAML document is one of blocky. */
export function isBlocky(root: Fields): boolean {
  const blocking = fields(root['blocking']);
  return (
    'blackLists' in blocking ||
    'denylists' in blocking ||
    'clientGroupsBlock' in blocking ||
    KEYS.filter((key) => key in root).length >= 2 ||
    'mapping' in fields(root['customDNS'])
  );
}

export function readBlocky(root: Fields): ImportDraft {
  const draft = new ImportDraft('blocky');
  takeUpstreams(root, draft);
  takeRecords(fields(root['customDNS']), draft);
  takeConditional(fields(root['conditional']), draft);
  takeBlocking(fields(root['blocking']), fields(root['clientLookup']), draft);
  takeTypes(root, draft);
  for (const key of Object.keys(root)) {
    if (!READ.has(key)) draft.skip('other', key, 'this section is not taken');
  }
  return draft;
}

/** The oldest layout has one list, without groups of clients. */
const EVERYBODYS = new Set(['default', 'externalResolvers']);
const NOT_OF_CLIENTS = 'a client has no servers of its own here';
const STRATEGIES = { parallel_best: 'race', strict: 'in-order', random: 'spread' } as const;

function takeUpstreams(root: Fields, draft: ImportDraft): void {
  const section = fields(root['upstreams']);
  const groups = fields(section['groups'] ?? root['upstream']);
  for (const [group, servers] of Object.entries(groups)) {
    for (const server of texts(servers)) {
      if (EVERYBODYS.has(group)) draft.addUpstream(serverOf(server));
      else draft.skip('upstreams', `${group}: ${server}`, NOT_OF_CLIENTS);
    }
  }
  const strategy = text(section['strategy'] ?? root['upstreamStrategy']);
  if (Object.hasOwn(STRATEGIES, strategy)) {
    draft.strategy = STRATEGIES[strategy as keyof typeof STRATEGIES];
  }
  takeBootstrap(root['bootstrapDns'], draft);
}

/** Servers as text, or with their addresses beside them. */
function takeBootstrap(bootstrap: unknown, draft: ImportDraft): void {
  const entries = Array.isArray(bootstrap) ? (bootstrap as unknown[]) : [bootstrap];
  for (const entry of entries) {
    const server = text(entry) || text(fields(entry)['upstream']);
    if (server !== '') draft.addUpstream(serverOf(server), draft.bootstrap);
  }
}

/** "[net:]host[:port][path][#name]" with net one of tcp+udp, udp, tcp, tcp-tls, https. */
function serverOf(server: string): string {
  const [, net = '', rest = ''] = /^(tcp\+udp|tcp-tls|tcp|udp|https):(.*)$/s.exec(server) ?? [];
  const host = (net === '' ? server : rest).replace(/^\/\//, '');
  if (net === 'tcp-tls') return `tls://${host.replace('#', '#name=')}`;
  if (net === 'https') return `https://${host.replace('#', '#name=')}`;
  return net === 'tcp' ? `tcp://${host}` : host;
}

/** A mapping holds for the name and all below it. */
function takeRecords(custom: Fields, draft: ImportDraft): void {
  const written = text(custom['customTTL']);
  const ttl = ttlOf(written);
  if (ttl === null) draft.skip('records', `customTTL: ${written}`, 'it is no duration');
  const mapping = Object.entries(fields(custom['mapping']));
  for (const [name, value] of mapping) takeMapping(name, value, ttl ?? TTL_SECONDS, draft);
  for (const [from, to] of Object.entries(fields(custom['rewrite']))) {
    takeRename(from, text(to), mapping, ttl ?? TTL_SECONDS, draft);
  }
  takeZone(text(custom['zone']), draft);
  if (custom['filterUnmappedTypes'] === false) {
    const why = 'other types of local names have no data here, and are not asked upstream';
    draft.skip('records', 'filterUnmappedTypes: false', why);
  }
}

/** A bare number is one of minutes. */
function ttlOf(written: string): number | null {
  if (written === '') return TTL_SECONDS;
  return /^\d{1,6}$/.test(written) ? Number(written) * 60 : durationSeconds(written);
}

function takeMapping(name: string, value: unknown, ttl: number, draft: ImportDraft): void {
  for (const answer of texts(value).flatMap(commaParts)) {
    const type = addressType(answer);
    if (type === '') draft.skip('records', `${name} ${answer}`, 'it is no address');
    else draft.addSubtree(name, type, answer, ttl);
  }
}

/** Names that end in `from` are answered as if they ended in `to`. */
function takeRename(
  from: string,
  to: string,
  mapping: readonly [string, unknown][],
  ttl: number,
  draft: ImportDraft,
): void {
  const plain = to.toLowerCase();
  let isUsed = false;
  for (const [name, value] of mapping) {
    const lower = name.toLowerCase();
    const isBelow = lower.endsWith(`.${plain}`);
    if (lower !== plain && !isBelow) continue;
    isUsed = true;
    takeMapping(`${lower.slice(0, lower.length - plain.length)}${from}`, value, ttl, draft);
  }
  if (!isUsed) draft.skip('records', `${from} → ${to}`, 'there is no mapping for it');
}

/** Lines of a zone file: "$ORIGIN", "$TTL" and "name [TTL] [IN] type data". RFC 1035 §5.1. */
function takeZone(zone: string, draft: ImportDraft): void {
  let origin = '';
  let ttl = TTL_SECONDS;
  for (const line of linesOf(zone, (why) => draft.skip('records', '', why))) {
    const plain = line.split(';', 1)[0] ?? '';
    const [first = '', second = ''] = words(plain);
    if (first === '') continue;
    if (first === '$ORIGIN') origin = second.replace(/\.$/, '');
    else if (first === '$TTL') ttl = readTtl(second) ?? ttl;
    else takeZoneLine(plain, origin, ttl, draft);
  }
}

function takeZoneLine(line: string, origin: string, ttl: number, draft: ImportDraft): void {
  const record = readRecord(line);
  const name = fullName(record?.name ?? '', origin);
  if (record === null || name === '') {
    draft.skip('records', line, 'this line of a zone file is not read');
    return;
  }
  const { type, data } = record;
  const target = WITH_TARGET.has(type) ? [fullName(data.pop() ?? '', origin)] : [];
  draft.addRecord(name, type, [...data, ...target].join(' '), record.ttl ?? ttl);
}

/** Types whose data ends in a name. */
const WITH_TARGET = new Set<string>(['CNAME', 'PTR', 'MX', 'SRV']);

function takeConditional(conditional: Fields, draft: ImportDraft): void {
  for (const [suffix, servers] of Object.entries(fields(conditional['mapping']))) {
    for (const server of texts(servers).flatMap(commaParts)) {
      if (suffix === '.') {
        draft.skip('upstreams', server, 'names without a dot have no servers of their own here');
      } else draft.addUpstream(serverOf(server), draft.suffixServers(suffix));
    }
  }
  for (const [from, to] of Object.entries(fields(conditional['rewrite']))) {
    const shown = `${from} → ${text(to)}`;
    draft.skip('upstreams', shown, 'questions are not sent on under another name here');
  }
}

/** Types of questions that get no data. */
function takeTypes(root: Fields, draft: ImportDraft): void {
  const types = new Set(texts(fields(root['filtering'])['queryTypes']));
  if (root['disableIPv6'] === true) types.add('AAAA');
  for (const type of types) draft.addRule(`*$dnstype=${type},dnsrewrite=NOERROR,wide`);
}
