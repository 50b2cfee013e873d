/** Which client an address belongs to, and what is said about groups. */
import type { ClientGroup, NamedClient } from '../client/answers.ts';
import { t } from '../text.ts';

/**
 * The client whose ids have this address; the narrowest network wins. MAC addresses are not looked
 * at: the window does not know them of an address.
 */
export function clientOf(
  address: string,
  clients: readonly NamedClient[],
): NamedClient | undefined {
  const bits = addressBits(address);
  if (bits === '') return undefined;
  let found: NamedClient | undefined;
  let longest = -1;
  for (const client of clients) {
    for (const id of client.ids) {
      const prefix = networkBits(id);
      if (prefix === '' || prefix.length <= longest || !bits.startsWith(prefix)) continue;
      longest = prefix.length;
      found = client;
    }
  }
  return found;
}

/** The first bits of a network, with the kind of address before them; '' for what is none. */
function networkBits(text: string): string {
  const [address = '', length] = text.split('/');
  const bits = addressBits(address);
  return bits === '' || length === undefined ? bits : bits.slice(0, 1 + Number(length));
}

/** "4" or "6" and the bits of an address; '' for what is none. */
function addressBits(address: string): string {
  if (/^\d{1,3}(\.\d{1,3}){3}$/.test(address)) {
    return `4${address
      .split('.')
      .map((part) => toBits(Number(part), 8))
      .join('')}`;
  }
  if (!/^[0-9a-f:]+$/i.test(address) || !address.includes(':')) return '';
  const [head = '', tail] = address.split('::');
  const first = groupsOf(head);
  const last = tail === undefined ? [] : groupsOf(tail);
  const missing = 8 - first.length - last.length;
  if (missing < 0 || (tail === undefined && missing !== 0)) return '';
  const groups = [...first, ...Array.from({ length: missing }, () => 0), ...last];
  return `6${groups.map((group) => toBits(group, 16)).join('')}`;
}

function groupsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => parseInt(group, 16));
}

function toBits(value: number, width: number): string {
  return value.toString(2).padStart(width, '0');
}

/** What a group has otherwise than everybody, one sentence part each. */
export function describeGroup(group: ClientGroup): string[] {
  const { has } = t().clients;
  if (!group.filtering) return [has.noFilter];
  const { lists, rules, services, safeSearch } = group;
  return [
    lists === undefined ? has.allLists : lists.length === 0 ? has.noLists : lists.join(', '),
    rules.length === 0 ? '' : has.rules(rules.length),
    services.length === 0 ? '' : has.services(services.length),
    safeSearch === undefined ? '' : safeSearch === false ? has.noSafeSearch : has.safeSearch,
  ].filter((text) => text !== '');
}

/** The clients of a group. */
export function describeMembers(group: ClientGroup, clients: readonly NamedClient[]): string {
  const members = clients.filter((client) => client.group === group.name);
  if (members.length === 0) return t().clients.has.noClients;
  return members.map(({ name }) => name).join(', ');
}
