/**
 * Takes over the upstream servers of AdGuard Home. Used by adguard-home.ts.
 */
import type { ImportDraft } from '../draft/draft.ts';
import { PRIVATE_NETWORKS, reverseZones } from './reverse-zones.ts';
import { isSet, text, texts, words, type Fields } from '../draft/values.ts';

export function takeServers(dns: Fields, draft: ImportDraft): void {
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
  takeMode(dns, draft);
  takeReverse(dns, draft);
}

const STRATEGIES = { load_balance: 'spread', parallel: 'race' } as const;

/** Older layouts have two switches instead. */
function takeMode(dns: Fields, draft: ImportDraft): void {
  const old = isSet(dns['all_servers']) ? 'parallel' : 'load_balance';
  const mode = isSet(dns['fastest_addr']) ? 'fastest_addr' : text(dns['upstream_mode']);
  const wanted = mode === '' && 'all_servers' in dns ? old : mode;
  if (Object.hasOwn(STRATEGIES, wanted)) {
    draft.strategy = STRATEGIES[wanted as keyof typeof STRATEGIES];
  } else if (wanted !== '') {
    const why = 'the addresses in answers are not tried here; dns.strategy: fastest is the nearest';
    draft.skip('upstreams', `upstream_mode: ${wanted}`, why);
  }
}

/** Servers that know the names of the home network's addresses. */
function takeReverse(dns: Fields, draft: ImportDraft): void {
  const servers = texts(dns['local_ptr_upstreams']).filter((line) => !line.startsWith('#'));
  if (dns['use_private_ptr_resolvers'] === false) {
    for (const server of servers) draft.skip('upstreams', server, 'it is switched off');
    return;
  }
  const own = texts(dns['private_networks']);
  const zones = (own.length > 0 ? own : PRIVATE_NETWORKS).flatMap(reverseZones);
  for (const server of servers) {
    if (server.startsWith('[/')) takeUpstream(server, draft);
    else {
      for (const zone of zones) draft.addUpstream(plainServer(server), draft.suffixServers(zone));
    }
  }
}

/** "server", "# comment", "[/a.example/b.example/]server server"; "#" as server means the others. */
function takeUpstream(line: string, draft: ImportDraft): void {
  if (line.startsWith('#')) return;
  const end = line.startsWith('[/') ? line.indexOf('/]') : -1;
  if (end < 0) {
    draft.addUpstream(plainServer(line));
    return;
  }
  const servers = words(line.slice(end + 2));
  for (const written of line.slice(2, end).split('/')) {
    const name = written.replace(/^\*\./, '');
    if (name === '') {
      draft.skip('upstreams', line, 'names without a dot have no servers of their own here');
      continue;
    }
    if (name !== written) {
      draft.skip('upstreams', written, 'taken for the name itself, too, not only for those below');
    }
    for (const server of servers) {
      if (server === '#') draft.defaultSuffixes.push(name);
      else draft.addUpstream(plainServer(server), draft.suffixServers(name));
    }
  }
}

/** "1.1.1.1:53" and "udp://..." are written alike here; h3 is https. */
function plainServer(server: string): string {
  return server.replace(/^h3:\/\//, 'https://');
}
