/**
 * The names that have a meaning of their own and are never asked upstream. Read by
 * steps/special-names.ts and explain.ts; the table is built when this file is loaded.
 */
import type { NameView } from './name.ts';
import { hashName, writeName } from './name.ts';
import { TYPE } from './wire.ts';

/** The loopback addresses; other types NODATA. RFC 6761 §6.3. */
export const ZONE_LOOPBACK = 1;
/** Does not exist, and nothing below it. */
export const ZONE_ABSENT = 2;
/** Exists and is empty; nothing below it exists. RFC 6303 §3. */
export const ZONE_EMPTY = 3;
/** Exists, has no records of any type. */
export const ZONE_NODATA = 4;
/** As ZONE_ABSENT, but only while names are filtered: browsers then keep off their own DoH. */
export const ZONE_CANARY = 5;

function reverse(suffix: string, labels: readonly (number | string)[]): string[] {
  return labels.map((label) => `${String(label)}.${suffix}`);
}

function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

const zeros = (count: number): string => '0.'.repeat(count);

const ZONES: readonly (readonly [kind: number, names: readonly string[]])[] = [
  [ZONE_LOOPBACK, ['localhost']], // RFC 6761 §6.3
  [ZONE_ABSENT, ['invalid', 'test']], // RFC 6761 §6.4, §6.2
  [ZONE_ABSENT, ['onion']], // RFC 7686 §2
  [ZONE_ABSENT, ['alt']], // RFC 9476 §2
  [ZONE_ABSENT, ['local']], // RFC 6762 §22.1: multicast DNS is the system's business
  [ZONE_ABSENT, ['internal']], // ICANN Board resolution 2024.07.29.06
  [ZONE_EMPTY, ['home.arpa']], // RFC 8375 §4
  [ZONE_EMPTY, ['default.service.arpa']], // RFC 9665 §10
  [ZONE_EMPTY, ['resolver.arpa']], // RFC 9462 §6.4
  [ZONE_NODATA, ['_dns.resolver.arpa']],
  [ZONE_CANARY, ['use-application-dns.net']],
  [ZONE_EMPTY, reverse('in-addr.arpa', [0, 10, 127])], // RFC 6303 §4.1, §4.2
  [ZONE_EMPTY, reverse('172.in-addr.arpa', range(16, 31))],
  [ZONE_EMPTY, ['168.192.in-addr.arpa', '254.169.in-addr.arpa', '2.0.192.in-addr.arpa']],
  [ZONE_EMPTY, ['100.51.198.in-addr.arpa', '113.0.203.in-addr.arpa']],
  [ZONE_EMPTY, ['255.255.255.255.in-addr.arpa']],
  [ZONE_EMPTY, reverse('100.in-addr.arpa', range(64, 127))], // RFC 7793 §2
  [ZONE_EMPTY, [`0.${zeros(31)}ip6.arpa`, `1.${zeros(31)}ip6.arpa`]], // RFC 6303 §4.3
  [ZONE_EMPTY, reverse('f.ip6.arpa', ['d', '8.e', '9.e', 'a.e', 'b.e'])], // RFC 6303 §4.4, §4.5
  [ZONE_EMPTY, ['8.b.d.0.1.0.0.2.ip6.arpa']], // RFC 6303 §4.6
];

/** Names that prove to the takeover that a question came through: main/system-dns/takeover/probe.ts. */
const PROBE_ZONE = 'probe.sluice.internal';

/** The wire form of an instance's probe name, for the policy. @param instance  one label */
export function probeZone(instance: string): Uint8Array {
  const scratch = new Uint8Array(255);
  return scratch.slice(0, writeName(`${instance}.${PROBE_ZONE}`, scratch, 0));
}

/** Power of two, several times the number of zones. */
const SLOTS = 512;
const slotHashes = new Int32Array(SLOTS);
/** Index into zoneNames plus 1; 0 is an empty slot. */
const slotZones = new Uint8Array(SLOTS);
const zoneNames: Uint8Array[] = [];
const zoneKinds: number[] = [];

for (const [kind, names] of ZONES) for (const name of names) addZone(kind, name);

function addZone(kind: number, text: string): void {
  const scratch = new Uint8Array(255);
  const name = scratch.slice(0, writeName(text, scratch, 0));
  const hash = hashName(name, 0, name.length);
  let slot = hash & (SLOTS - 1);
  while (slotZones[slot] !== 0) slot = (slot + 1) & (SLOTS - 1);
  slotHashes[slot] = hash;
  slotZones[slot] = zoneNames.push(name);
  zoneKinds.push(kind);
}

const ARPA_HASH = hashName(Uint8Array.of(4, 0x61, 0x72, 0x70, 0x61), 0, 5);
const LABEL_BITS = 8;

/**
 * Finds the special zone that a name is in, the deepest one.
 *
 * @returns  0 for none; else the kind and the zone's label count, see zoneKind and zoneLabels
 * Cost: two probes for a name outside arpa, no allocation.
 */
export function findSpecialZone(view: NameView): number {
  const count = view.labelCount;
  if (count === 0) return 0;
  const depth = view.suffixHashes[count - 1] === ARPA_HASH ? count : Math.min(count, 2);
  let found = 0;
  for (let labels = 1; labels <= depth; labels++) {
    const kind = zoneAt(view, count - labels);
    if (kind !== 0) found = kind | (labels << LABEL_BITS);
  }
  return found;
}

/**
 * Whether a question is about a zone here, but for its parent to answer: that there is no DS, which
 * proves to validators that the zone is not signed. RFC 4035 §3.1.4.1, RFC 8375 §4.
 */
export function isForParent(found: number, view: NameView, type: number): boolean {
  const isApex = zoneLabels(found) === view.labelCount;
  return type === TYPE.ds && isApex && zoneKind(found) === ZONE_EMPTY;
}

export function zoneKind(found: number): number {
  return found & ((1 << LABEL_BITS) - 1);
}

export function zoneLabels(found: number): number {
  return found >>> LABEL_BITS;
}

/** Kind of the zone whose name is the suffix that starts at `label`; 0 for none. */
function zoneAt(view: NameView, label: number): number {
  const hash = view.suffixHashes[label] as number;
  let slot = hash & (SLOTS - 1);
  for (;;) {
    const zone = slotZones[slot] as number;
    if (zone === 0) return 0;
    if (slotHashes[slot] === hash && isNamed(zoneNames[zone - 1] as Uint8Array, view, label)) {
      return zoneKinds[zone - 1] as number;
    }
    slot = (slot + 1) & (SLOTS - 1);
  }
}

function isNamed(zone: Uint8Array, view: NameView, label: number): boolean {
  const start = view.labelStarts[label] as number;
  if (view.nameLength - start !== zone.length) return false;
  for (let index = 0; index < zone.length; index++) {
    if (zone[index] !== view.name[start + index]) return false;
  }
  return true;
}
