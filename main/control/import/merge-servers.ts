/**
 * Puts the upstream servers of another program's file in place of those in the settings. Those of a
 * suffix replace that suffix's. Used by import-plan.ts.
 */
import { isDeepStrictEqual } from 'node:util';
import { configSchema, type Config } from '../../contract/config.ts';
import { LIMITS } from '../../contract/limits.ts';
import { normalSuffix } from '../../net/upstream/plan.ts';
import type { ImportDraft, SkipNotes } from './draft/draft.ts';
import type { Taken } from './import-plan.ts';

const SUFFIXES_MAX = LIMITS.upstreamSuffixesMax;
const suffixesSchema = configSchema.shape.dns.unwrap().shape.suffixes.unwrap();

/** Changes config.dns and `taken`. */
export function mergeServers(
  { dns }: Config,
  draft: ImportDraft,
  taken: Taken,
  notes: SkipNotes,
): void {
  replaceServers(dns.upstreams, draft.upstreams, taken);
  replaceServers(dns.bootstrap, draft.bootstrap, taken);
  if (draft.strategy !== null && draft.upstreams.length > 0) {
    if (dns.strategy === draft.strategy) taken.known++;
    else note(taken, `strategy ${draft.strategy}`);
    dns.strategy = draft.strategy;
  }
  for (const [suffix, servers] of Object.entries(draft.suffixes)) {
    if (servers.length > 0) mergeSuffix(dns, suffix, servers, taken, notes);
  }
}

function mergeSuffix(
  dns: Config['dns'],
  written: string,
  servers: string[],
  taken: Taken,
  notes: SkipNotes,
): void {
  const known = Object.keys(dns.suffixes).find((other) => normalSuffix(other) === written);
  const suffix = known ?? written;
  const isName = suffix !== '__proto__' && suffixesSchema.safeParse({ [suffix]: servers }).success;
  if (!isName) notes.add('upstreams', suffix, 'it is no domain name');
  else if (known === undefined && Object.keys(dns.suffixes).length >= SUFFIXES_MAX) {
    notes.add('upstreams', suffix, `only ${String(SUFFIXES_MAX)} suffixes can be set`);
  } else if (isDeepStrictEqual(dns.suffixes[suffix], servers)) taken.known++;
  else {
    taken.replaced += dns.suffixes[suffix]?.length ?? 0;
    dns.suffixes[suffix] = servers;
    note(taken, `${suffix}: ${servers.join(', ')}`);
  }
}

/**
 * Takes out the server that a conflict is about: one that is Sluice itself, for example. Where none
 * is left, those from before stay.
 *
 * @param path  from ["dns", "upstreams", 0] or ["dns", "suffixes", "lan", 0]
 * @returns     the server; '' when the conflict is about something else
 */
export function dropServer(
  dns: Config['dns'],
  before: Config['dns'],
  [, key, place, index]: readonly (string | number)[],
): string {
  if ((key === 'upstreams' || key === 'bootstrap') && typeof place === 'number') {
    const [dropped = ''] = dns[key].splice(place, 1);
    if (dns[key].length === 0) dns[key] = [...before[key]];
    return dropped;
  }
  if (key !== 'suffixes' || typeof index !== 'number') return '';
  return dropFromSuffix(dns, before.suffixes, String(place), index);
}

function dropFromSuffix(
  dns: Config['dns'],
  before: Config['dns']['suffixes'],
  suffix: string,
  index: number,
): string {
  const servers = dns.suffixes[suffix] ?? [];
  const [dropped = ''] = servers.splice(index, 1);
  if (servers.length > 0) return dropped;
  const others = Object.entries(dns.suffixes).filter(([other]) => other !== suffix);
  const old = Object.entries(before).filter(([other]) => other === suffix);
  dns.suffixes = Object.fromEntries([...others, ...old]);
  return dropped;
}

function replaceServers(there: string[], found: readonly string[], taken: Taken): void {
  if (found.length === 0 || isDeepStrictEqual(there, found)) {
    taken.known += found.length;
    return;
  }
  taken.replaced += there.length;
  const before = new Set(there.splice(0));
  for (const server of found) {
    if (before.has(server)) taken.known++;
    else note(taken, server);
    there.push(server);
  }
}

function note(taken: Taken, text: string): void {
  taken.count++;
  if (taken.examples.length < LIMITS.importExamplesMax) taken.examples.push(text);
}
