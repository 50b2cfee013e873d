/**
 * What every resolver owner looks like to the rest: systemd-resolved, NetworkManager, resolvconf,
 * a plain /etc/resolv.conf, macOS, Windows. One file per owner implements `ResolverOwner`.
 *
 * An owner keeps *items* (a link, a device, a file), each with a few *properties* that decide whom
 * the machine asks. Takeover and restore are then the same for all: what is read before is put in
 * the journal; what stands there later is compared with it and with what we wrote.
 */

export const OWNER_NAMES = [
  'systemd-resolved',
  'networkmanager',
  'resolvconf',
  'resolv.conf',
  'macos',
  'windows',
] as const;
export type OwnerName = (typeof OWNER_NAMES)[number];

/** Where our engine answers. Port 53 unless the owner's `takesPort` says otherwise. */
export interface DnsServer {
  readonly address: string;
  readonly port: number;
}

export type PropertyValue = string | boolean | number | null | readonly string[];
export type Properties = Readonly<Record<string, PropertyValue>>;

/** One place where servers are kept. Plain data: it goes into the journal as it is. */
export interface OwnerItem {
  /** Stable while the item exists, and never given to another: "3 wlan0", a UUID, a path. */
  readonly key: string;
  /** For people: "wlan0". */
  readonly label: string;
  /** Why this item is left alone; '' when it is to be covered. */
  readonly skip: string;
  readonly properties: Properties;
  /** Servers it names now, as text. Those of DHCP and router advertisements too. */
  readonly servers: readonly string[];
  /** Suffixes that only its servers know, without dot: what a VPN asks for itself. */
  readonly routingDomains: readonly string[];
}

export interface Detection {
  /** Runs or exists on this machine. */
  readonly isPresent: boolean;
  /** Decides what the stub resolver asks. */
  readonly isInCharge: boolean;
  /** One plain sentence: by which signs. */
  readonly detail: string;
  /** Servers with a port other than 53 work here. */
  readonly takesPort: boolean;
}

export interface ResolverOwner {
  readonly name: OwnerName;
  detect(): Promise<Detection>;
  /** Everything it keeps now. @throws when it does not answer */
  capture(): Promise<OwnerItem[]>;
  /** The properties that lead an item to us; null when this item cannot. */
  target(before: OwnerItem, servers: readonly DnsServer[]): Properties | null;
  /**
   * Writes properties of one item: those named, the others stay. Harmless when repeated.
   *
   * @param before  as in the journal; owners that keep a copy of what was there find it by this
   */
  write(before: OwnerItem, properties: Properties): Promise<void>;
  /**
   * What to write into an item that somebody changed since but that still asks only us, when there
   * is something better than all that was before.
   */
  mend?(before: OwnerItem, now: OwnerItem, servers: readonly DnsServer[]): Properties;
  /** Gives an item back that asks a loopback server, without knowing what was before. */
  release(now: OwnerItem): Promise<void>;
  /** Called once after the last write of a restore, e.g. to flush the owner's cache. */
  settle(): Promise<void>;
}

/** What has to be done to one item to undo us. */
export interface UndoPlan {
  /** Properties that still stand as we wrote them, with the values from before. */
  readonly write: Properties;
  /** Names of properties that somebody else changed since; they stay. */
  readonly leftAlone: readonly string[];
}

/**
 * Compares three states, property by property: as it was, as we wrote it, as it is.
 *
 * Only what still stands as we wrote it is put back. A property that we did not change needs
 * nothing, and one that somebody changed since is theirs.
 */
export function planUndo(before: Properties, ours: Properties, now: Properties): UndoPlan {
  const write: Record<string, PropertyValue> = {};
  const leftAlone: string[] = [];
  for (const [name, mine] of Object.entries(ours)) {
    const was = before[name] ?? null;
    const is = now[name] ?? null;
    if (isSame(is, was)) continue;
    if (isSame(is, mine)) write[name] = was;
    else leftAlone.push(name);
  }
  return { write, leftAlone };
}

/** True when an item asks servers, and all of them are ours. */
export function asksOnlyUs(item: OwnerItem, servers: readonly DnsServer[]): boolean {
  const ours = new Set(
    servers.flatMap(({ address, port }) => {
      const host = address.includes(':') ? `[${address}]` : address;
      return port === 53 ? [address] : [`${host}:${String(port)}`];
    }),
  );
  return item.servers.length > 0 && item.servers.every((one) => ours.has(one));
}

/** True when every property of `wanted` stands so in `now`. */
export function holds(wanted: Properties, now: Properties): boolean {
  return Object.entries(wanted).every(([name, value]) => isSame(now[name] ?? null, value));
}

function isSame(one: PropertyValue, other: PropertyValue): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
