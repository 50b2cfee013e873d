/**
 * The listeners of one data-plane thread: UDP and TCP on each endpoint, on the same port. UDP is
 * served in batches where the add-on is built (net/listen/native-udp-listener.ts), else by node:dgram; both
 * behave alike.
 *
 * An endpoint that cannot be bound keeps no other from serving. `look` tries it again: an address
 * comes with its network, a port is given back, and a link-local address belongs to the link that
 * has the name now.
 */
import { networkInterfaces } from 'node:os';
import { AppError } from '../contract/errors.ts';
import { openNativeUdpListener } from '../net/listen/native-udp-listener.ts';
import type { UdpAddonResult } from '../net/native/native-udp-addon.ts';
import type { Listener, ListenerOptions } from '../net/listen/packet-handler.ts';
import { formatEndpoint, isWildcard, type Endpoint } from '../net/server-address.ts';
import { openTcpListener } from '../net/listen/tcp-listener.ts';
import { openUdpListener } from '../net/listen/udp-listener.ts';

/** Ports tried until one is free for UDP and TCP alike, when the system chooses. */
const PORT_TRIES_MAX = 20;
/** Between two attempts on a port that somebody else has, or that this user may not have. */
const TAKEN_RETRY_MS = 10_000;

/** What all listeners of the thread share. */
export type ListenerCommon = Pick<
  ListenerOptions,
  'engine' | 'counters' | 'reusePort' | 'tcpClients'
>;

export interface ListenersOptions {
  readonly common: ListenerCommon;
  readonly addon: UdpAddonResult['addon'];
  /**
   * Makes sure that nobody else holds an endpoint, by binding it alone for a moment. With
   * SO_REUSEPORT a second instance of the program would otherwise bind as well, and take every
   * other packet.
   */
  readonly claimsAlone: boolean;
  /** In place of TAKEN_RETRY_MS, for tests. */
  readonly takenRetryMs?: number;
}

/** An endpoint that is not served. */
export interface UnservedEndpoint {
  /** As configured: "192.168.7.1:53". */
  readonly endpoint: string;
  /** Half a sentence, to be read behind "DNS is not answered on …: ". */
  readonly reason: string;
}

/** What is served and what is not. */
export interface Listening {
  /** All that were asked for; ports that were 0 as bound, once they are. */
  readonly configured: readonly Endpoint[];
  /** Those that are bound. */
  readonly served: readonly Endpoint[];
  readonly unserved: readonly UnservedEndpoint[];
}

type ListenerPair = readonly [udp: Listener, tcp: Listener];

/** One endpoint and its listeners. */
interface Place {
  /** The port as bound, once it was. */
  endpoint: Endpoint;
  pair: ListenerPair | null;
  /** Why there is no pair. */
  failure: AppError | null;
  /** When that was, milliseconds of performance.now. */
  failedMs: number;
  /** Index of the link of a scoped address when it was bound; else 0. */
  link: number;
}

export class Listeners {
  readonly #options: ListenersOptions;
  readonly #places: Place[] = [];
  #looking: Promise<void> = Promise.resolve();
  #isStopped = false;

  /**
   * Opens what can be opened.
   *
   * @throws AppError PORT_IN_USE, PORT_FORBIDDEN, ADDRESS_UNAVAILABLE of the first endpoint when
   *         none could be opened, or INTERNAL; then nothing is left open
   */
  static async open(listen: readonly Endpoint[], options: ListenersOptions): Promise<Listeners> {
    const listeners = new Listeners(options);
    listeners.#add(listen);
    try {
      for (const place of listeners.#places) await listeners.#bind(place, false);
      const [first] = listeners.#places;
      const isServing = listeners.#places.some(({ pair }) => pair !== null);
      if (!isServing && first?.failure) throw first.failure;
    } catch (error) {
      await listeners.close();
      throw error;
    }
    return listeners;
  }

  private constructor(options: ListenersOptions) {
    this.#options = options;
  }

  get state(): Listening {
    const known = addressesNow();
    return {
      configured: this.#places.map(({ endpoint }) => endpoint),
      served: this.#places.filter(({ pair }) => pair !== null).map(({ endpoint }) => endpoint),
      unserved: this.#places.flatMap((place) => {
        const reason = unservedReason(place, known);
        const { address, port } = place.endpoint;
        return reason === '' ? [] : [{ endpoint: formatEndpoint(address, port), reason }];
      }),
    };
  }

  /** Takes endpoints on; those that are served already stay as they are. `look` opens the others. */
  add(listen: readonly Endpoint[]): void {
    this.#add(
      listen.filter(({ address, port }) => {
        return !this.#places.some(
          ({ endpoint }) => endpoint.address === address && endpoint.port === port,
        );
      }),
    );
  }

  /** Opens what could not be opened before, as far as it can be now. Never rejects. */
  look(): Promise<void> {
    this.#looking = this.#looking.then(async () => {
      for (const place of this.#places) {
        if (this.#isStopped) return;
        await this.#lookAt(place);
      }
    });
    return this.#looking;
  }

  /** Takes no more packets, but still sends answers that are on their way. */
  stop(): void {
    this.#isStopped = true;
    for (const { pair } of this.#places) for (const listener of pair ?? []) listener.stop();
  }

  /** Closes at once; resolves when the sockets are free again. */
  async close(): Promise<void> {
    this.#isStopped = true;
    await this.#looking;
    await Promise.all(this.#places.map(({ pair }) => closePair(pair)));
  }

  #add(listen: readonly Endpoint[]): void {
    for (const endpoint of listen) {
      this.#places.push({ endpoint, pair: null, failure: null, failedMs: -Infinity, link: 0 });
    }
  }

  async #lookAt(place: Place): Promise<void> {
    if (place.pair !== null) {
      const link = linkOf(place.endpoint);
      if (link === place.link || link === 0) return;
      // The link was made anew, and the socket belongs to the former one.
      const before = place.pair;
      place.pair = null;
      await closePair(before);
    } else if (place.failure !== null && place.failure.code !== 'ADDRESS_UNAVAILABLE') {
      const waitMs = this.#options.takenRetryMs ?? TAKEN_RETRY_MS;
      if (performance.now() - place.failedMs < waitMs) return;
    }
    await this.#bind(place, true).catch(() => undefined); // kept as the place's failure
  }

  /** @throws AppError when that is no matter of the endpoint */
  async #bind(place: Place, isRetry: boolean): Promise<void> {
    const { common, addon, claimsAlone } = this.#options;
    const link = linkOf(place.endpoint);
    try {
      if (claimsAlone && place.endpoint.port !== 0) {
        const alone = { ...common, reusePort: false, isRetry };
        await closePair(await openPair(place.endpoint, alone, null));
      }
      place.pair = await openPair(place.endpoint, { ...common, isRetry }, addon);
      place.endpoint = { ...place.endpoint, port: place.pair[0].port };
      place.failure = null;
      place.link = link;
      if (this.#isStopped) for (const listener of place.pair) listener.stop();
    } catch (error) {
      const failure = error instanceof AppError ? error : new AppError('INTERNAL', String(error));
      // A second attempt does not look for who has the port; the first has found that out.
      if (place.failure?.code !== failure.code) place.failure = failure;
      place.failedMs = performance.now();
      if (failure.code === 'INTERNAL') throw failure;
    }
  }
}

async function closePair(pair: ListenerPair | null): Promise<void> {
  await Promise.all(pair?.map((listener) => listener.close()) ?? []);
}

async function openPair(
  { address, port }: Endpoint,
  common: ListenerCommon & Pick<ListenerOptions, 'isRetry'>,
  addon: UdpAddonResult['addon'],
): Promise<ListenerPair> {
  for (let tries = 1; ; tries++) {
    const udp = await openUdp({ ...common, address, port }, addon);
    try {
      return [udp, await openTcpListener({ ...common, address, port: udp.port })];
    } catch (error) {
      await udp.close();
      const isTaken = error instanceof AppError && error.code === 'PORT_IN_USE';
      if (port !== 0 || !isTaken || tries === PORT_TRIES_MAX) throw error;
    }
  }
}

function openUdp(options: ListenerOptions, addon: UdpAddonResult['addon']): Promise<Listener> {
  return addon === null ? openUdpListener(options) : openNativeUdpListener(addon, options);
}

/** '' when the endpoint is served. @param known  addresses of this machine; null when unknown */
function unservedReason(place: Place, known: ReadonlySet<string> | null): string {
  if (place.pair === null) return place.failure?.message ?? '';
  const { address } = place.endpoint;
  const bare = address.split('%', 1)[0] ?? address;
  const isHere = known === null || known.has(bare) || isWildcard(bare) || bare.startsWith('127.');
  return isHere ? '' : `this machine does not have the address ${address} now`;
}

function addressesNow(): ReadonlySet<string> | null {
  try {
    const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
    return new Set(all.map(({ address }) => address));
  } catch {
    // Some sandboxes forbid looking.
    return null;
  }
}

/** Index of the link that a scoped address names, 0 when it is not there or names none. */
function linkOf({ address }: Endpoint): number {
  const zone = address.split('%', 2)[1];
  if (zone === undefined) return 0;
  try {
    const found = networkInterfaces()[zone]?.find(({ family }) => family === 'IPv6');
    return found?.family === 'IPv6' ? found.scopeid : 0;
  } catch {
    return 0;
  }
}
