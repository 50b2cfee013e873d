/**
 * Takes over what blocky blocks: groups of lists and of lines, and which clients have which groups.
 *
 * A client has the groups of every key that fits it, and those of "default" when none does. A group
 * with exceptions only means that nothing else is let through. Used by blocky.ts.
 */
import { isIP } from 'node:net';
import { LIMITS } from '../../../contract/limits.ts';
import type { Network } from '../../../engine/filter/engine-config.ts';
import { isInside, parseNetwork } from '../../policy/networks.ts';
import type { ImportDraft } from '../draft/draft.ts';
import { NO_SHARE, type Share } from '../draft/share.ts';
import { cleanTitle } from '../draft/titles.ts';
import {
  clientIdOf,
  durationSeconds,
  fields,
  linesOf,
  text,
  texts,
  words,
} from '../draft/values.ts';
import type { Fields } from '../draft/values.ts';

const EVERYTHING = '/.*/$wide';
const FITTING_CHARS_MAX = 64;

interface GroupContent {
  readonly lists: string[];
  readonly rules: Set<string>;
  /** Exceptions as lists; they come after the rule that blocks everything. */
  readonly allowLists: string[];
  /** Nothing but exceptions. */
  readonly isAllowOnly: boolean;
}

/** A key of clientGroupsBlock. */
interface Place {
  readonly name: string;
  /** An address, a network, a MAC. */
  readonly id: string;
  readonly network: Network | undefined;
  readonly groups: readonly string[];
}

export function takeBlocking(blocking: Fields, clientLookup: Fields, draft: ImportDraft): void {
  const denied = fields(blocking['denylists'] ?? blocking['blackLists']);
  const allowed = fields(blocking['allowlists'] ?? blocking['whiteLists']);
  const groups = new Map<string, GroupContent>();
  for (const name of new Set([...Object.keys(denied), ...Object.keys(allowed)])) {
    groups.set(name, takeGroup(name, texts(denied[name]), texts(allowed[name]), draft));
  }
  const perClient = fields(blocking['clientGroupsBlock']);
  takeClients(perClient, clientLookup, groups, draft);
  takeAnswer(blocking, draft);
}

function takeGroup(
  name: string,
  denied: readonly string[],
  allowed: readonly string[],
  draft: ImportDraft,
): GroupContent {
  const rules = new Set<string>();
  const lists = takeSources(name, denied, false, rules, draft);
  const allowLists = takeSources(name, allowed, true, rules, draft);
  const isAllowOnly = denied.length === 0 && allowed.length > 0;
  return { lists: [...lists, ...allowLists], rules, allowLists, isAllowOnly };
}

/** URLs and files are lists; other texts are lines. @returns the lists' names */
function takeSources(
  group: string,
  sources: readonly string[],
  isAllow: boolean,
  rules: Set<string>,
  draft: ImportDraft,
): string[] {
  const names: string[] = [];
  for (const source of sources) {
    const isUrl = /^(?:https?|file):\/\//.test(source);
    if (isUrl || isPath(source)) {
      const url = isUrl ? source : `file://${source}`;
      const action = isAllow ? 'allow' : 'block';
      names.push(draft.addList(group, url, { action, match: 'exact' }));
    } else if (!source.includes('\n') && /^[\w./-]+\.(?:txt|lst|list|hosts)$/.test(source)) {
      draft.skip('lists', source, 'it has no whole path; write file:///...');
    } else {
      for (const line of linesOf(source, (why) => draft.skip('rules', group, why))) {
        takeLine(line, isAllow, rules, draft);
      }
    }
  }
  return names.filter((name) => name !== '');
}

function isPath(source: string): boolean {
  return source.startsWith('/') && !source.endsWith('/') && !source.includes('\n');
}

/** An expression, or names behind an address as in a hosts file. */
function takeLine(line: string, isAllow: boolean, rules: Set<string>, draft: ImportDraft): void {
  const start = isAllow ? '@@' : '';
  if (/^\/.+\/$/.test(line)) {
    draft.addRule(`${start}${line}`, rules);
    return;
  }
  const [first = '', ...others] = words(line.split('#', 1)[0] ?? '');
  const names = isIP(first) > 0 && others.length > 0 ? others : [first];
  for (const name of names) if (name !== '') draft.addRule(`${start}${ruleOf(name)}`, rules);
}

/** A name means itself; with "*." in front it and all below. An address is one of answers. */
function ruleOf(name: string): string {
  if (name.startsWith('*.')) return `||${name.slice(2)}^`;
  return isIP(name) > 0 ? `||${name}^` : `|${name}^`;
}

function takeClients(
  perClient: Fields,
  clientLookup: Fields,
  groups: ReadonlyMap<string, GroupContent>,
  draft: ImportDraft,
): void {
  if (Object.keys(perClient).length === 0 && groups.size > 0) {
    draft.skip('groups', 'clientGroupsBlock', 'no client has a group there: nothing is blocked');
  }
  const ofAll = texts(perClient['default']);
  const common = sum(ofAll, groups, draft);
  draft.everybody.lists = new Set(common.lists ?? []);
  for (const rule of common.rules ?? []) draft.everybody.rules.add(rule);
  const places = placesIn(perClient, clientLookup, draft);
  const shares = new Map<string, Share>();
  for (const { name, id, groups: own } of withOuter(places)) {
    const title = cleanTitle(own.join(' + ')) || 'Unfiltered';
    const share = shares.get(own.join(' ')) ?? sum(own, groups, draft);
    shares.set(own.join(' '), share);
    draft.addMember({ name, ids: [id], tags: [], title, share });
  }
  const used = new Set([...ofAll, ...places.flatMap((one) => one.groups)]);
  takeUnusedGroups(used, groups, draft);
}

function takeUnusedGroups(
  used: ReadonlySet<string>,
  groups: ReadonlyMap<string, GroupContent>,
  draft: ImportDraft,
): void {
  for (const [name, { lists, rules }] of groups) {
    if (used.has(name) || lists.length + rules.size === 0) continue;
    draft.spareGroups.push({ title: name, share: sum([name], groups, draft) });
  }
}

function placesIn(perClient: Fields, clientLookup: Fields, draft: ImportDraft): Place[] {
  const found = Object.entries(perClient)
    .filter(([key]) => key !== 'default')
    .flatMap(([key, value]) => placesOf(key, texts(value), clientLookup, draft));
  for (const { name } of found.slice(LIMITS.clientsMax)) {
    draft.skip('clients', name, `only ${String(LIMITS.clientsMax)} can be in the settings`);
  }
  return found.slice(0, LIMITS.clientsMax);
}

/** Addresses and networks as they are; names as clientLookup.clients says. */
function placesOf(
  key: string,
  groups: readonly string[],
  clientLookup: Fields,
  draft: ImportDraft,
): Place[] {
  const written = key.split(',').map((one) => one.trim());
  const places = written.flatMap((id) => placeOf(id, id, groups));
  if (places.length === written.length) return places;
  draft.skip('clients', key, 'clients are known by address, network or MAC only');
  return Object.entries(fields(clientLookup['clients']))
    .filter(([name]) => fits(key, name))
    .flatMap(([name, ids]) => texts(ids).flatMap((id) => placeOf(name, id, groups)));
}

function placeOf(name: string, written: string, groups: readonly string[]): Place[] {
  const id = clientIdOf(written);
  return id === '' ? [] : [{ name, id, network: parseNetwork(id), groups }];
}

/** Whether a name fits a key with stars: "laptop*". */
function fits(key: string, name: string): boolean {
  if (key.length > FITTING_CHARS_MAX) return false;
  const body = key.replaceAll(/[.+?^${}()|\\]/g, '\\$&').replaceAll(/\*+/g, '.*');
  try {
    return new RegExp(`^${body}$`, 'i').test(name.slice(0, FITTING_CHARS_MAX));
  } catch {
    return false;
  }
}

/** Each with the groups of all networks around it; the same address once. */
function withOuter(places: readonly Place[]): Place[] {
  const done = new Map<string, Place>();
  for (const place of places) {
    if (done.has(place.id)) continue;
    const around = places.filter((other) => isAround(other, place));
    const groups = [...new Set(around.flatMap((other) => other.groups))].sort();
    done.set(place.id, { ...place, groups });
  }
  return [...done.values()];
}

function isAround(outer: Place, inner: Place): boolean {
  if (outer.id === inner.id) return true;
  const { network } = inner;
  return network !== undefined && outer.network !== undefined && isInside(network, outer.network);
}

/** What groups have together. */
function sum(
  names: readonly string[],
  groups: ReadonlyMap<string, GroupContent>,
  draft: ImportDraft,
): Share {
  const parts = names.flatMap((name) => groups.get(name) ?? []);
  const lists = new Set(parts.flatMap((part) => part.lists));
  const rules = new Set(parts.flatMap((part) => [...part.rules]));
  if (parts.some(({ isAllowOnly }) => isAllowOnly)) {
    if (parts.some(({ allowLists }) => allowLists.length > 0)) {
      const why = 'a group that lets nothing else through can have its exceptions as lines only';
      draft.skip('groups', names.join(' + '), why);
    } else rules.add(EVERYTHING);
  }
  const filtering = lists.size + rules.size > 0;
  return { ...NO_SHARE, lists, rules, services: null, policies: null, filtering };
}

const ANSWERS = { zeroip: 'null-address', nxdomain: 'nxdomain' } as const;

function takeAnswer(blocking: Fields, draft: ImportDraft): void {
  const type = text(blocking['blockType']).toLowerCase();
  if (Object.hasOwn(ANSWERS, type)) {
    draft.blocking = { answer: ANSWERS[type as keyof typeof ANSWERS] };
  } else if (type !== '') {
    const why = 'blocked names are not answered with an own address here';
    draft.skip('blocking', `blockType: ${type}`, why);
  }
  const ttl = durationSeconds(text(blocking['blockTTL']));
  if (ttl !== null && ttl <= 86_400) draft.blocking = { ...draft.blocking, ttlSeconds: ttl };
}
