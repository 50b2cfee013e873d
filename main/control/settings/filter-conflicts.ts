/**
 * What the schema cannot say of policies, clients, groups, services and local records: names that
 * refer to nothing, values that cannot be read. Called by settings-conflicts.ts.
 */
import type { Config } from '../../contract/config.ts';
import type { PolicySettings, RecordSettings } from '../../contract/filter-config.ts';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { nearest, quote, type Finding } from '../../contract/schema-text.ts';
import { writeName } from '../../dns/name.ts';
import { parseRule } from '../../lists/compile/rules.ts';
import { clientIdKey, parseClientId } from '../policy/client-id.ts';
import { parseNetwork } from '../policy/networks.ts';
import { patternRule } from '../policy/policies-table.ts';
import { addressData, nameData, recordData, RECORD_EXAMPLES } from '../policy/record-data.ts';
import { serviceCatalogue } from '../policy/services.ts';

type Path = readonly (string | number)[];

/** Edits away at which a name still counts as a slip of the finger. */
const SLIP_DISTANCE_MAX = 3;

/** The first conflict; undefined when there is none. */
export function filterConflict(config: Config): Finding | undefined {
  return (
    groupConflict(config) ??
    clientConflict(config) ??
    serviceConflict(['services'], config.services) ??
    policiesConflict(config) ??
    recordsConflict(config.records)
  );
}

function groupConflict({ groups, lists }: Config): Finding | undefined {
  const listNames = lists.map((list) => list.name);
  for (const [index, group] of groups.entries()) {
    const path = ['groups', index];
    if (groups.findIndex(({ name }) => name === group.name) !== index) {
      return bad([...path, 'name'], group.name, 'a name that no other group has');
    }
    const unknown = (group.lists ?? []).findIndex((name) => !listNames.includes(name));
    if (unknown >= 0) {
      return noSuch([...path, 'lists', unknown], group.lists?.[unknown] ?? '', 'list', listNames);
    }
    const conflict =
      rulesConflict([...path, 'rules'], group.rules) ??
      serviceConflict([...path, 'services'], group.services);
    if (conflict) return conflict;
  }
  return undefined;
}

function clientConflict({ clients, groups }: Config): Finding | undefined {
  const groupNames = groups.map((group) => group.name);
  const owners = new Map<string, string>();
  for (const [index, client] of clients.entries()) {
    const path = ['clients', index];
    if (clients.findIndex(({ name }) => name === client.name) !== index) {
      return bad([...path, 'name'], client.name, 'a name that no other client has');
    }
    if (groupNames.includes(client.name)) {
      return bad([...path, 'name'], client.name, 'a name that no group has');
    }
    if (client.group !== '' && !groupNames.includes(client.group)) {
      return noSuch([...path, 'group'], client.group, 'group', groupNames);
    }
    for (const [place, text] of client.ids.entries()) {
      const id = parseClientId(text);
      const at = [...path, 'ids', place];
      if (!id) return bad(at, text, 'an IP address, a network or a MAC address');
      const owner = owners.get(clientIdKey(id));
      if (owner !== undefined) return bad(at, text, `it once only, ${quote(owner)} has it`);
      owners.set(clientIdKey(id), client.name);
    }
  }
  return undefined;
}

function serviceConflict(path: Path, ids: readonly string[]): Finding | undefined {
  if (ids.length === 0) return undefined;
  const known = serviceCatalogue().map((service) => service.id);
  const unknown = ids.findIndex((id) => !known.includes(id));
  if (unknown >= 0) return noSuch([...path, unknown], ids[unknown] ?? '', 'service', known);
  return undefined;
}

function policiesConflict({ policies, clients, groups }: Config): Finding | undefined {
  const owners = [...clients, ...groups].map(({ name }) => name);
  let domains = 0;
  for (const [index, policy] of policies.entries()) {
    const path = ['policies', index];
    if (policies.findIndex(({ name }) => name === policy.name) !== index) {
      return bad([...path, 'name'], policy.name, 'a name that no other policy has');
    }
    domains += policy.domains.length;
    if (domains > LIMITS.policyDomainsMax) {
      const most = `at most ${String(LIMITS.policyDomainsMax)} in all policies together`;
      return bad([...path, 'domains'], `${String(domains)} domains`, most);
    }
    const conflict = policyConflict(policy, owners);
    if (conflict) return { ...conflict, path: [...path, ...conflict.path] };
  }
  return undefined;
}

/** Why a policy cannot be used. The path is below the policy. */
function policyConflict(policy: PolicySettings, owners: readonly string[]): Finding | undefined {
  if (policy.domains.length + policy.regex.length === 0) {
    return { path: [], unknownKey: false, text: 'a policy needs domains or a regex' };
  }
  return (
    domainConflict(policy.domains) ??
    regexConflict(policy.regex) ??
    scopeConflict(policy.clients, owners) ??
    scheduleConflict(policy) ??
    redirectConflict(policy)
  );
}

function regexConflict(patterns: readonly string[]): Finding | undefined {
  const index = patterns.findIndex(
    (pattern) => rulesConflict([], [patternRule(pattern)]) !== undefined,
  );
  if (index < 0) return undefined;
  const allowed = 'a valid regular expression, without (?=...), (?<=...) and \\1';
  return bad(['regex', index], patterns[index], allowed);
}

function domainConflict(domains: readonly string[]): Finding | undefined {
  const scratch = new Uint8Array(LIMITS.nameBytesMax);
  const index = domains.findIndex((text) => writeName(text.replace(/^\*\./, ''), scratch, 0) <= 0);
  if (index < 0) return undefined;
  return bad(['domains', index], domains[index], 'a domain name of at most 255 bytes');
}

function scopeConflict(scopes: readonly string[], owners: readonly string[]): Finding | undefined {
  for (const [index, text] of scopes.entries()) {
    if (owners.includes(text) || parseNetwork(text) !== undefined) continue;
    return noSuch(['clients', index], text, 'client or group', owners);
  }
  return undefined;
}

function scheduleConflict({ schedule }: PolicySettings): Finding | undefined {
  if (!schedule) return undefined;
  const { from, to, timeZone } = schedule;
  if (from === to && from !== '00:00') {
    return bad(['schedule', 'to'], to, 'another time than "from"; 00:00 twice is the whole day');
  }
  if (timeZone !== '' && !isTimeZone(timeZone)) {
    const zones = Intl.supportedValuesOf('timeZone');
    return noSuch(['schedule', 'timeZone'], timeZone, 'time zone', zones);
  }
  return undefined;
}

function isTimeZone(text: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: text }).resolvedOptions().timeZone !== '';
  } catch {
    // The one way that Intl has to say so.
    return false;
  }
}

function redirectConflict({ action, redirect }: PolicySettings): Finding | undefined {
  if (action === 'redirect') return redirect ? targetConflict(redirect) : noTarget([]);
  if (!redirect) return undefined;
  const text = 'only a policy with the action redirect has one, remove it';
  return { path: ['redirect'], unknownKey: false, text };
}

function targetConflict({ addresses, name }: NonNullable<PolicySettings['redirect']>) {
  if ((addresses.length === 0) === (name === '')) return noTarget(['redirect']);
  const wrong = addresses.findIndex((text) => !addressData(text, 4) && !addressData(text, 6));
  if (wrong >= 0) return bad(['redirect', 'addresses', wrong], addresses[wrong], 'an IP address');
  if (name === '' || nameData(name)) return undefined;
  return bad(['redirect', 'name'], name, 'a domain name such as safe.example');
}

function noTarget(path: Path): Finding {
  const text = 'a redirect needs addresses or a name, one of the two';
  return { path, unknownKey: false, text };
}

function recordsConflict(records: readonly RecordSettings[]): Finding | undefined {
  const types = new Map<string, Set<string>>();
  for (const [index, { name, type, value }] of records.entries()) {
    const path = ['records', index];
    if (!nameData(name.replace(/^\*\./, ''))) {
      return bad([...path, 'name'], name, 'a domain name of at most 255 bytes');
    }
    if (!recordData(type, value)) return bad([...path, 'value'], value, RECORD_EXAMPLES[type]);
    const key = name.toLowerCase().replace(/\.$/, '');
    const others = types.get(key) ?? new Set<string>();
    types.set(key, others);
    const isSecond = type === 'CNAME' ? others.size > 0 : others.has('CNAME');
    if (isSecond) return bad([...path, 'type'], type, 'a CNAME alone, or other types, for a name');
    others.add(type);
  }
  return undefined;
}

/** The first rule that does not parse. */
export function rulesConflict(path: Path, rules: readonly string[]): Finding | undefined {
  for (const [index, rule] of rules.entries()) {
    try {
      parseRule(rule);
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return { path: [...path, index], unknownKey: false, text: error.message };
    }
  }
  return undefined;
}

function bad(path: Path, value: unknown, allowed: string): Finding {
  return { path, unknownKey: false, text: `${quote(value)} is not allowed, write ${allowed}` };
}

/** A name that refers to nothing, with the one that was probably meant. */
function noSuch(path: Path, name: string, kind: string, known: readonly string[]): Finding {
  const { candidate, distance } = nearest(name, known);
  const isSlip = distance <= Math.min(SLIP_DISTANCE_MAX, Math.floor(name.length / 2));
  const meant = isSlip ? `, did you mean ${quote(candidate)}?` : '';
  return { path, unknownKey: false, text: `there is no ${kind} ${quote(name)}${meant}` };
}
