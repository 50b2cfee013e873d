/**
 * Reads blocky's configuration, with the present names of its keys and the older ones. Called by
 * import-file.ts.
 */
import { isIP } from 'node:net';
import { cleanTitle, ImportDraft } from './draft.ts';
import { clientIdOf, fields, text, texts, type Fields } from './values.ts';

const KEYS = ['upstreams', 'upstream', 'blocking', 'customDNS', 'conditional', 'bootstrapDns'];
/** Keys with an effect of their own, which are read; others that are set are told. */
const READ = new Set([
  ...KEYS,
  'log',
  'logLevel',
  'ports',
  'port',
  'httpPort',
  'certFile',
  'keyFile',
]);

/** Whether a YAML document is one of blocky. */
export function isBlocky(root: Fields): boolean {
  const blocking = fields(root['blocking']);
  return (
    'blackLists' in blocking ||
    'denylists' in blocking ||
    'clientGroupsBlock' in blocking ||
    KEYS.filter((key) => key in root).length >= 2
  );
}

export function readBlocky(root: Fields): ImportDraft {
  const draft = new ImportDraft('blocky');
  takeUpstreams(root, draft);
  takeRecords(fields(root['customDNS']), draft);
  takeConditional(fields(root['conditional']), draft);
  takeBlocking(fields(root['blocking']), draft);
  for (const key of Object.keys(root)) {
    if (!READ.has(key)) draft.skip('other', key, 'this section is not taken');
  }
  return draft;
}

function takeUpstreams(root: Fields, draft: ImportDraft): void {
  const groups = fields(fields(root['upstreams'])['groups'] ?? root['upstream']);
  for (const [group, servers] of Object.entries(groups)) {
    for (const server of texts(servers)) {
      if (group === 'default') draft.addUpstream(serverOf(server));
      else
        draft.skip('upstreams', `${group}: ${server}`, 'a client has no servers of its own here');
    }
  }
  const bootstrap = root['bootstrapDns'];
  const entries = Array.isArray(bootstrap) ? (bootstrap as unknown[]) : [bootstrap];
  for (const entry of entries) {
    const server = text(entry) || text(fields(entry)['upstream']);
    if (server !== '') draft.addUpstream(serverOf(server), draft.bootstrap);
  }
}

/** "[net:]host[:port][path][#name]" with net one of tcp+udp, tcp, udp, tcp-tls, https. */
function serverOf(server: string): string {
  const [, net = '', rest = ''] = /^(tcp\+udp|tcp-tls|tcp|udp|https):(.*)$/s.exec(server) ?? [];
  const host = (net === '' ? server : rest).replace(/^\/\//, '');
  if (net === 'tcp-tls') return `tls://${host.replace('#', '#name=')}`;
  if (net === 'https') return `https://${host.replace('#', '#name=')}`;
  return net === 'tcp' ? `tcp://${host}` : host;
}

function takeRecords(custom: Fields, draft: ImportDraft): void {
  for (const [name, value] of Object.entries(fields(custom['mapping']))) {
    const answers = texts(value).flatMap((one) => one.split(','));
    for (const answer of answers.map((one) => one.trim())) {
      const family = isIP(answer);
      if (family === 0) draft.skip('records', `${name} ${answer}`, 'it is no address');
      else draft.addRecord(name, family === 6 ? 'AAAA' : 'A', answer);
    }
  }
  if (text(custom['zone']) !== '') {
    draft.skip('records', text(custom['zone']), 'records as text of a zone file are not read');
  }
  takeRenames(custom, draft);
}

function takeRenames(section: Fields, draft: ImportDraft): void {
  for (const [from, to] of Object.entries(fields(section['rewrite']))) {
    draft.skip('records', `${from} → ${text(to)}`, 'rewriting the ends of names has no equal here');
  }
}

function takeConditional(conditional: Fields, draft: ImportDraft): void {
  for (const [suffix, servers] of Object.entries(fields(conditional['mapping']))) {
    for (const server of texts(servers).flatMap((one) => one.split(','))) {
      if (suffix === '.') {
        draft.skip(
          'upstreams',
          server.trim(),
          'servers for names without a dot have no equal here',
        );
      } else draft.addUpstream(serverOf(server.trim()), draft.suffixServers(suffix));
    }
  }
  takeRenames(conditional, draft);
}

function takeBlocking(blocking: Fields, draft: ImportDraft): void {
  const denied = fields(blocking['denylists'] ?? blocking['blackLists']);
  const allowed = fields(blocking['allowlists'] ?? blocking['whiteLists']);
  const perClient = fields(blocking['clientGroupsBlock']);
  const lists = new Map<string, string[]>();
  for (const [group, sources] of Object.entries(denied)) {
    lists.set(group, takeSources(group, texts(sources), false, draft));
  }
  for (const [group, sources] of Object.entries(allowed)) {
    const names = takeSources(group, texts(sources), true, draft);
    lists.set(group, [...(lists.get(group) ?? []), ...names]);
  }
  takeGroups(perClient, lists, draft);
}

/** URLs and files are lists; other texts are lines of rules. @returns the lists' names */
function takeSources(
  group: string,
  sources: readonly string[],
  isAllow: boolean,
  draft: ImportDraft,
): string[] {
  const names: string[] = [];
  for (const source of sources) {
    const isList = /^(https?|file):\/\//.test(source) || /^\/[^\n]*[^/\n]$/.test(source);
    if (!isList) {
      for (const line of source.split('\n')) takeLine(line.trim(), isAllow, draft);
    } else {
      const url = source.startsWith('/') ? `file://${source}` : source;
      names.push(draft.addList(group, url, true, isAllow ? 'allow' : 'block'));
    }
  }
  return names.filter((name) => name !== '');
}

/** blocky means the name alone, unless a wildcard stands in front. */
function takeLine(line: string, isAllow: boolean, draft: ImportDraft): void {
  if (line === '' || line.startsWith('#')) return;
  const isRegex = line.startsWith('/') && line.endsWith('/');
  const rule = line.startsWith('*.') ? `||${line.slice(2)}^` : `|${line}^`;
  draft.addRule(`${isAllow ? '@@' : ''}${isRegex ? line : rule}`);
}

/** Lists by client: "default" is everybody, the others are addresses, networks, or names. */
function takeGroups(
  perClient: Fields,
  lists: ReadonlyMap<string, readonly string[]>,
  draft: ImportDraft,
): void {
  const named = (value: unknown): string[] => texts(value).flatMap((one) => lists.get(one) ?? []);
  for (const [key, value] of Object.entries(perClient)) {
    const ids = key.split(',').map(clientIdOf);
    if (key === 'default') continue;
    if (ids.includes('')) {
      draft.skip('clients', key, 'clients are known by address, network or MAC only');
      continue;
    }
    const title = cleanTitle(texts(value).join(' + ')) || 'Unfiltered';
    const known = draft.groups.find(({ name }) => name === title);
    const group = known ?? draft.addGroup({ name: title, lists: named(value) });
    if (group) draft.addClient({ name: key, ids, group: group.name });
  }
  keepFromOthers(perClient, named(perClient['default']), draft);
}

/** A list that only some clients have must not apply to everybody. */
function keepFromOthers(perClient: Fields, everybody: readonly string[], draft: ImportDraft): void {
  const isSame = draft.lists.every(({ name }) => everybody.includes(name));
  if (Object.keys(perClient).length === 0 || isSame) return;
  if (draft.addGroup({ name: 'Default', lists: [...everybody] })) {
    draft.addClient({ name: 'All others', ids: ['0.0.0.0/0', '::/0'], group: 'Default' });
  }
}
