/**
 * Reads AdGuardHome.yaml, of its present and its older layouts. Called by import-file.ts.
 */
import { isIP } from 'node:net';
import { SAFE_ENGINES, type SafeEngine } from '../../contract/filter-words.ts';
import { cleanTitle, ImportDraft } from './draft.ts';
import { clientIdOf, fields, isOn, items, text, texts, type Fields } from './values.ts';

/** Whether a YAML document is one of AdGuard Home. */
export function isAdGuardHome(root: Fields): boolean {
  return 'schema_version' in root && ('dns' in root || 'filters' in root || 'user_rules' in root);
}

export function readAdGuardHome(root: Fields): ImportDraft {
  const draft = new ImportDraft('AdGuard Home');
  const dns = fields(root['dns']);
  // Older layouts have in `dns` what newer ones have in `filtering`.
  const filtering: Fields = { ...dns, ...fields(root['filtering']) };
  takeFilters(root, draft);
  for (const rule of texts(root['user_rules'])) takeRule(rule, draft);
  takeRewrites(filtering, draft);
  for (const id of serviceIds(filtering['blocked_services'])) draft.addService(id);
  draft.safeSearch = safeSearch(filtering['safe_search'] ?? filtering['safesearch_enabled']);
  takeServers(dns, draft);
  takeClients(root['clients'], draft);
  takeNot(root, filtering, draft);
  takeNotBlocking(filtering, draft);
  return draft;
}

/** Custom rules may be lines of a hosts file: these names alone, with an answer of their own. */
function takeRule(line: string, draft: ImportDraft): void {
  if (/^[!#]/.test(line)) return;
  const [address = '', ...names] = line.replace(/\s#.*$/, '').split(/\s+/);
  if (isIP(address) === 0 || names.length === 0) {
    draft.addRule(line);
    return;
  }
  const answer = /^(?:0\.0\.0\.0|::)$/.test(address) ? '' : `$dnsrewrite=${address}`;
  for (const name of names) draft.addRule(`|${name}^${answer}`);
}

function takeFilters(root: Fields, draft: ImportDraft): void {
  for (const filter of items(root['filters']).map(fields)) {
    const url = text(filter['url']);
    draft.addList(text(filter['name']), fileUrl(url), isOn(filter['enabled']));
  }
  for (const filter of items(root['whitelist_filters']).map(fields)) {
    const url = fileUrl(text(filter['url']));
    draft.addList(text(filter['name']), url, isOn(filter['enabled']), 'allow');
  }
}

/** AdGuard Home takes plain paths, too. */
function fileUrl(url: string): string {
  return url.startsWith('/') ? `file://${url}` : url;
}

function takeRewrites(filtering: Fields, draft: ImportDraft): void {
  for (const rewrite of items(filtering['rewrites']).map(fields)) {
    const [domain, answer] = [text(rewrite['domain']), text(rewrite['answer'])];
    const shown = `${domain} → ${answer}`;
    if (!isOn(rewrite['enabled'])) draft.skip('records', shown, 'it is switched off');
    else if (answer === 'A' || answer === 'AAAA') {
      draft.skip('records', shown, 'an exception that keeps the records of the upstream');
    } else if (domain.toLowerCase() === answer.toLowerCase()) {
      draft.skip('records', shown, 'an exception of a wildcard');
    } else draft.addRecord(domain, recordType(answer), answer);
  }
}

function recordType(answer: string): 'A' | 'AAAA' | 'CNAME' {
  const family = isIP(answer);
  if (family === 0) return 'CNAME';
  return family === 4 ? 'A' : 'AAAA';
}

/** Newer layouts have a schedule beside the ids. */
function serviceIds(value: unknown): string[] {
  return texts(Array.isArray(value) ? value : fields(value)['ids']);
}

function safeSearch(value: unknown): ImportDraft['safeSearch'] {
  if (value === true) return { enabled: true, engines: [...SAFE_ENGINES], youtube: 'moderate' };
  const set = fields(value);
  if (set['enabled'] !== true) return null;
  return { enabled: true, engines: enginesOf(set), youtube: 'moderate' };
}

function enginesOf(set: Fields): SafeEngine[] {
  return SAFE_ENGINES.filter((engine) => isOn(set[engine] ?? !(engine in set)));
}

function takeServers(dns: Fields, draft: ImportDraft): void {
  for (const server of texts(dns['upstream_dns'])) takeUpstream(server, draft);
  for (const server of texts(dns['bootstrap_dns'])) {
    const plain = server.replace(/^udp:\/\//, '');
    draft.addUpstream(plain, draft.bootstrap);
  }
  for (const server of texts(dns['fallback_dns'])) {
    draft.skip('upstreams', server, 'a server for when others fail; add it at the end if wanted');
  }
  if (text(dns['upstream_dns_file']) !== '') {
    draft.skip('upstreams', text(dns['upstream_dns_file']), 'a file of servers is not read');
  }
}

/** "server", "# comment", "[/a.example/b.example/]server server"; "#" as server means the others. */
function takeUpstream(line: string, draft: ImportDraft): void {
  if (line.startsWith('#')) return;
  const match = /^\[\/(.*)\/\](.*)$/.exec(line);
  if (!match) {
    draft.addUpstream(plainServer(line));
    return;
  }
  const [, names = '', servers = ''] = match;
  for (const name of names.split('/').map((one) => one.replace(/^\*\./, ''))) {
    for (const server of servers.trim().split(/\s+/)) {
      if (name === '' || server === '#') {
        draft.skip('upstreams', line, 'an exception for some names has no equal here');
      } else draft.addUpstream(plainServer(server), draft.suffixServers(name));
    }
  }
}

/** "1.1.1.1:53" and "udp://..." are written alike here; h3 is https. */
function plainServer(server: string): string {
  return server.replace(/^h3:\/\//, 'https://');
}

function takeClients(value: unknown, draft: ImportDraft): void {
  const rows = Array.isArray(value) ? value : fields(value)['persistent'];
  for (const client of items(rows).map(fields)) {
    const name = cleanTitle(text(client['name']));
    const written = Array.isArray(client['ids'])
      ? texts(client['ids'])
      : [text(client['ip']), text(client['mac'])].filter((id) => id !== '');
    const ids = written.map(clientIdOf).filter((id) => id !== '');
    for (const id of written.filter((one) => clientIdOf(one) === '')) {
      draft.skip('clients', id, 'clients are known by address, network or MAC only');
    }
    for (const server of texts(client['upstreams'])) {
      draft.skip('upstreams', `${name}: ${server}`, 'a client has no servers of its own here');
    }
    if (ids.length === 0) continue;
    const tags = texts(client['tags']);
    draft.addClient({ name, ids, tags, group: ownGroup(name, client, draft) });
  }
}

/** What a client has of its own becomes a group; '' when it has nothing of its own. */
function ownGroup(name: string, client: Fields, draft: ImportDraft): string {
  const hasOwn = client['use_global_settings'] === false;
  const hasServices = client['use_global_blocked_services'] === false;
  if (!hasOwn && !hasServices) return '';
  const services: string[] = [];
  if (hasServices) {
    for (const id of serviceIds(client['blocked_services'])) draft.addService(id, services);
  }
  const group = draft.addGroup({
    name: cleanTitle(`${name.slice(0, 50)} settings`),
    services,
    ...(hasOwn && ownFiltering(client)),
  });
  return group?.name ?? '';
}

function ownFiltering(client: Fields): { filtering: boolean; safeSearch: SafeEngine[] | false } {
  const own = fields(client['safe_search']);
  const isSafe = (own['enabled'] ?? client['safesearch_enabled']) === true;
  return {
    filtering: client['filtering_enabled'] !== false,
    safeSearch: isSafe ? enginesOf(own) : false,
  };
}

/** Settings with an effect that have no equal, or another place, here. */
function takeNot(root: Fields, filtering: Fields, draft: ImportDraft): void {
  if (isOn(filtering['parental_enabled'] ?? false)) {
    draft.skip('other', 'parental_enabled', 'a service on the internet; add a list instead');
  }
  if (isOn(filtering['safebrowsing_enabled'] ?? false)) {
    draft.skip('other', 'safebrowsing_enabled', 'a service on the internet; add a list instead');
  }
  if (isOn(fields(root['dhcp'])['enabled'] ?? false)) {
    draft.skip('other', 'dhcp', 'Sluice gives no addresses by DHCP');
  }
  for (const user of items(root['users']).map(fields)) {
    draft.skip('other', text(user['name']), 'accounts of the web interface are not taken');
  }
  for (const key of ['allowed_clients', 'disallowed_clients', 'blocked_hosts']) {
    for (const one of texts(fields(root['dns'])[key]))
      draft.skip('other', one, `${key} is not taken`);
  }
}

function takeNotBlocking(filtering: Fields, draft: ImportDraft): void {
  if (Object.keys(fields(fields(filtering['blocked_services'])['schedule'])).length > 1) {
    const why = 'blocked services have no hours here; a policy has';
    draft.skip('services', 'schedule', why);
  }
  const mode = text(filtering['blocking_mode']);
  if (!['', 'default', 'null_ip'].includes(mode)) {
    draft.skip('other', `blocking_mode: ${mode}`, 'set blocking.answer in the settings');
  }
}
