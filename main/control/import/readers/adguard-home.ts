/**
 * Reads AdGuardHome.yaml, of its present and its older layouts. Called by import-file.ts.
 */
import { cleanTitle } from '../draft/titles.ts';
import { ImportDraft } from '../draft/draft.ts';
import { blockedServices, safeSearch, takeClients } from './adguard-clients.ts';
import { takeServers } from './adguard-servers.ts';
import { addressType, fields, isOn, isSet, items, text, texts, words } from '../draft/values.ts';
import { withoutComment, type Fields } from '../draft/values.ts';

const SECTIONS = ['dns', 'filters', 'user_rules', 'filtering', 'clients', 'whitelist_filters'];

/** Whether a YAML document is one of AdGuard Home. */
export function isAdGuardHome(root: Fields): boolean {
  return 'schema_version' in root && SECTIONS.some((section) => section in root);
}

export function readAdGuardHome(root: Fields): ImportDraft {
  const draft = new ImportDraft('AdGuard Home');
  const dns = fields(root['dns']);
  // Older layouts have in `dns` what newer ones have in `filtering`.
  const filtering: Fields = { ...dns, ...fields(root['filtering']) };
  takeFilters(root, draft);
  for (const rule of texts(root['user_rules'])) takeRule(rule, draft);
  takeRewrites(filtering, draft);
  const { services, policies } = blockedServices(filtering['blocked_services'], draft);
  for (const id of services) draft.everybody.services.add(id);
  for (const policy of policies) draft.everybody.policies.add(policy);
  draft.safeSearch = safeSearch(filtering['safe_search'] ?? filtering['safesearch_enabled']);
  takeServers(dns, draft);
  takeClients(root['clients'], draft);
  takeAnswers(filtering, draft);
  takeNot(root, filtering, draft);
  return draft;
}

/** Lines of a hosts file and bare names mean the names alone. */
function takeRule(line: string, draft: ImportDraft): void {
  if (/^[!#]/.test(line)) return;
  const [address = '', ...names] = words(withoutComment(line));
  if (addressType(address) === '' || names.length === 0) {
    const isName = /^(?:[\w-]+\.)+[\w-]+$/.test(line) && addressType(line) === '';
    draft.addRule(isName ? `|${line}^` : line);
    return;
  }
  const answer = /^(?:0\.0\.0\.0|::)$/.test(address) ? '' : `$dnsrewrite=${address}`;
  for (const name of names) draft.addRule(`|${name}^${answer}`);
}

function takeFilters(root: Fields, draft: ImportDraft): void {
  const kinds = [
    ['filters', 'block'],
    ['whitelist_filters', 'allow'],
  ] as const;
  for (const [key, action] of kinds) {
    for (const filter of items(root[key]).map(fields)) {
      const url = fileUrl(text(filter['url']));
      const enabled = isOn(filter['enabled']);
      // Plain names of its lists mean themselves only; rules of its syntax mean what they say.
      draft.addList(text(filter['name']), url, { enabled, action, match: 'exact' });
    }
  }
}

/** AdGuard Home takes plain paths, too. */
function fileUrl(url: string): string {
  return url.startsWith('/') ? `file://${url}` : url;
}

function takeRewrites(filtering: Fields, draft: ImportDraft): void {
  const isAllOff = filtering['rewrites_enabled'] === false;
  for (const rewrite of items(filtering['rewrites']).map(fields)) {
    const [domain, answer] = [text(rewrite['domain']), text(rewrite['answer'])];
    const shown = `${domain} → ${answer}`;
    if (isAllOff || !isOn(rewrite['enabled'])) draft.skip('records', shown, 'it is switched off');
    else if (answer === 'A' || answer === 'AAAA') {
      draft.skip('records', shown, 'an exception that keeps the records of the upstream');
    } else if (domain.toLowerCase() === answer.toLowerCase()) {
      draft.skip('records', shown, 'an exception of a wildcard');
    } else draft.addRecord(domain, addressType(answer) || 'CNAME', answer);
  }
}

const ANSWERS = {
  default: 'null-address',
  null_ip: 'null-address',
  nxdomain: 'nxdomain',
  refused: 'refused',
} as const;

/** How blocked names are answered, and answers that count as none. */
function takeAnswers(filtering: Fields, draft: ImportDraft): void {
  const mode = text(filtering['blocking_mode']);
  const ttl = filtering['blocked_response_ttl'];
  if (Object.hasOwn(ANSWERS, mode)) {
    draft.blocking = { answer: ANSWERS[mode as keyof typeof ANSWERS] };
    if (typeof ttl === 'number' && Number.isInteger(ttl) && ttl >= 0 && ttl <= 86_400) {
      draft.blocking.ttlSeconds = ttl;
    }
  } else if (mode !== '') {
    const why = 'blocked names are not answered with an own address here';
    draft.skip('blocking', `blocking_mode: ${mode}`, why);
  }
  if (isSet(filtering['aaaa_disabled'])) draft.addRule('*$dnstype=AAAA,dnsrewrite=NOERROR,wide');
  for (const address of texts(filtering['bogus_nxdomain'])) {
    if (addressType(address) !== '') draft.addRule(`||${address}^`);
    else draft.skip('rules', `bogus_nxdomain: ${address}`, 'only single addresses can be taken');
  }
}

/** Settings with an effect that have no equal, or another place, here. */
function takeNot(root: Fields, filtering: Fields, draft: ImportDraft): void {
  for (const key of ['parental_enabled', 'safebrowsing_enabled']) {
    if (isSet(filtering[key])) {
      draft.skip('other', key, 'a service on the internet; add a list instead');
    }
  }
  for (const key of ['protection_enabled', 'filtering_enabled']) {
    if (filtering[key] === false) {
      draft.skip('other', key, 'it is switched off there; here filtering is on');
    }
  }
  if (isSet(fields(root['dhcp'])['enabled'])) {
    draft.skip('other', 'dhcp', 'Sluice gives no addresses by DHCP');
  }
  for (const user of items(root['users']).map(fields)) {
    draft.skip(
      'other',
      cleanTitle(text(user['name'])),
      'accounts of the web interface are not taken',
    );
  }
  takeNotDns(fields(root['dns']), draft);
}

const NOT_TAKEN: Readonly<Record<string, string>> = {
  enable_dnssec: 'Sluice passes DNSSEC on and leaves validation to the upstream',
  use_dns64: 'IPv6 addresses are not made of IPv4 ones here',
  ipset: 'addresses are not put into sets of the firewall here',
  ipset_file: 'addresses are not put into sets of the firewall here',
};
/** Names that AdGuard Home's settings have when nobody has changed them. */
const USUAL_HOSTS = new Set(['version.bind', 'id.server', 'hostname.bind']);

function takeNotDns(dns: Fields, draft: ImportDraft): void {
  for (const [key, why] of Object.entries(NOT_TAKEN)) {
    const value = dns[key];
    if (isSet(value) || texts(value).length > 0) draft.skip('other', key, why);
  }
  const subnet = dns['edns_client_subnet'];
  if (isSet(subnet) || isSet(fields(subnet)['enabled'])) {
    draft.skip('other', 'edns_client_subnet', 'networks of clients are not told to upstreams');
  }
  for (const key of ['allowed_clients', 'disallowed_clients', 'blocked_hosts']) {
    for (const one of texts(dns[key])) {
      if (!USUAL_HOSTS.has(one)) draft.skip('other', one, `${key} is not taken`);
    }
  }
}
