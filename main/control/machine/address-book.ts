/**
 * Keeps the addresses of the hosts of encrypted upstreams: looked up at the bootstrap servers only,
 * remembered on disk, handed to the data plane when they change. Main thread; made by compose.ts.
 *
 *     file (last known) ─▶ addresses ─▶ data plane
 *                             ▲
 *     bootstrap servers ──────┘  at start, each hour, on failure, after a change of network
 *
 * A machine that boots without a network, or whose bootstrap servers are blocked, begins with what
 * was known last. The system's resolver is never asked: it may be Sluice itself.
 */
import type { LookupAddress } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { LIMITS } from '../../contract/limits.ts';
import { SealedFile } from '../../system/sealed-file.ts';
import { writeTrouble } from '../process/data-folder.ts';
import type { ServiceClock } from '../../system/clock.ts';

/** Time until a host that was found is looked up again. */
const FRESH_MS = 60 * 60_000;
/** Wait after a lookup that failed; doubles from the first to the last. */
const BACKOFF_FIRST_MS = 1_000;
const BACKOFF_LAST_MS = 60_000;
/** A server that cannot be reached does not make us look up its name more often than this. */
const REFRESH_MIN_MS = 5_000;

export type Addresses = Readonly<Record<string, readonly string[]>>;

export interface AddressBookOptions {
  /** Sealed; made when there is something to remember. */
  readonly file: string;
  /** Over the bootstrap servers. */
  readonly lookup: LookupFunction;
  readonly clock: ServiceClock;
  /** The addresses of all hosts, after a change. */
  readonly onAddresses: (addresses: Addresses) => void;
  /** No address is known for a host, and why; null when that is over. */
  readonly onTrouble: (host: string, reason: string | null) => void;
  /** The file cannot be written. */
  readonly onSaveFailed: (reason: string) => void;
  /** The file was damaged. @param sentence  what became of it, without a full stop */
  readonly onDamaged?: (sentence: string) => void;
}

interface Saved {
  readonly hosts: Addresses;
}

interface Host {
  readonly name: string;
  cancel: () => void;
  isLooking: boolean;
  failures: number;
  lookedMs: number;
}

/** The addresses of some hosts. */
export class AddressBook {
  readonly #options: AddressBookOptions;
  readonly #known = new Map<string, readonly string[]>();
  readonly #hosts = new Map<string, Host>();
  readonly #file: SealedFile<Saved>;
  #saving: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** Reads the file. What it cannot read it does not need: names are looked up anyway. */
  static open(options: AddressBookOptions): AddressBook {
    const book = new AddressBook(options);
    const found = book.#file.read();
    if (found.state === 'damaged') options.onDamaged?.(found.sentence);
    const known = found.state === 'whole' ? Object.entries(found.value.hosts) : [];
    for (const [host, addresses] of known) book.#known.set(host, addresses);
    return book;
  }

  private constructor(options: AddressBookOptions) {
    this.#options = options;
    this.#file = new SealedFile({ path: options.file, kind: 'addresses', parse: parseSaved });
  }

  /** Of the hosts in use: the last known ones, empty lists left out. */
  get addresses(): Addresses {
    const found: Record<string, readonly string[]> = {};
    for (const host of this.#hosts.keys()) {
      const known = this.#known.get(host);
      if (known !== undefined) found[host] = known;
    }
    return found;
  }

  /** Says which hosts are in use, at most LIMITS.hostsMax, and looks up those that are new. */
  setHosts(names: readonly string[]): void {
    const wanted = new Set(names.slice(0, LIMITS.hostsMax));
    for (const host of this.#hosts.values()) {
      if (wanted.has(host.name)) continue;
      host.cancel();
      this.#hosts.delete(host.name);
      this.#options.onTrouble(host.name, null);
    }
    const fresh = [...wanted].filter((name) => !this.#hosts.has(name));
    for (const name of fresh) {
      const host = { name, cancel: nothing, isLooking: false, failures: 0, lookedMs: -Infinity };
      this.#hosts.set(name, host);
    }
    if (fresh.some((name) => this.#known.has(name))) this.#options.onAddresses(this.addresses);
    for (const host of this.#hosts.values()) if (fresh.includes(host.name)) this.#look(host);
  }

  /** A server cannot be reached at the addresses that are known: looks them up again. */
  refresh(name: string): void {
    const host = this.#hosts.get(name);
    const nowMs = this.#options.clock.monotonicMs();
    if (host === undefined || nowMs - host.lookedMs < REFRESH_MIN_MS) return;
    this.#look(host);
  }

  /** Another network: looks up everything now. */
  networkChanged(): void {
    for (const host of this.#hosts.values()) {
      host.failures = 0;
      this.#look(host);
    }
  }

  /** Ends the timers and waits for the file. Idempotent. */
  close(): Promise<void> {
    this.#isClosed = true;
    for (const host of this.#hosts.values()) host.cancel();
    return this.#saving;
  }

  #look(host: Host): void {
    if (host.isLooking || this.#isClosed) return;
    host.cancel();
    host.isLooking = true;
    host.lookedMs = this.#options.clock.monotonicMs();
    this.#options.lookup(host.name, { all: true }, (error, found) => {
      host.isLooking = false;
      if (this.#isClosed || this.#hosts.get(host.name) !== host) return;
      const addresses = error === null ? addressesOf(found) : [];
      if (addresses.length > 0) this.#found(host, addresses);
      else this.#missed(host, error);
    });
  }

  #found(host: Host, addresses: readonly string[]): void {
    host.failures = 0;
    this.#options.onTrouble(host.name, null);
    this.#after(host, FRESH_MS);
    if (this.#known.get(host.name)?.join() === addresses.join()) return;
    this.#known.set(host.name, addresses);
    this.#options.onAddresses(this.addresses);
    this.#save();
  }

  #missed(host: Host, error: NodeJS.ErrnoException | null): void {
    const waitMs = Math.min(BACKOFF_FIRST_MS * 2 ** Math.min(host.failures, 10), BACKOFF_LAST_MS);
    host.failures++;
    this.#after(host, waitMs);
    if (this.#known.has(host.name)) return;
    const why = error?.code === 'ENOTFOUND' ? 'the name has none' : 'no bootstrap server answered';
    this.#options.onTrouble(host.name, why);
  }

  #after(host: Host, waitMs: number): void {
    host.cancel = this.#options.clock.after(waitMs, () => {
      this.#look(host);
    });
  }

  #save(): void {
    const { file, onSaveFailed } = this.#options;
    const hosts = Object.fromEntries([...this.#known].slice(-LIMITS.hostsMax));
    this.#saving = this.#file.write({ hosts }).catch((error: unknown) => {
      onSaveFailed(writeTrouble(error, file));
    });
  }
}

function nothing(): void {
  // No timer is set yet.
}

function addressesOf(found: string | LookupAddress[]): string[] {
  const all = typeof found === 'string' ? [found] : found.map(({ address }) => address);
  return all.slice(0, LIMITS.hostAddressesMax);
}

function parseSaved(json: unknown): Saved | undefined {
  const { hosts } = (json ?? {}) as { hosts?: unknown };
  if (typeof hosts !== 'object' || hosts === null) return undefined;
  const known = Object.entries(hosts as Record<string, unknown>)
    .slice(0, LIMITS.hostsMax)
    .flatMap(([host, addresses]): [string, string[]][] => {
      const valid = Array.isArray(addresses) ? addresses.filter(isAddress) : [];
      return valid.length === 0 ? [] : [[host, valid.slice(0, LIMITS.hostAddressesMax)]];
    });
  return { hosts: Object.fromEntries(known) };
}

function isAddress(value: unknown): value is string {
  return typeof value === 'string' && isIP(value) > 0;
}
