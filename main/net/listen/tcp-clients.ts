/**
 * Who holds the client TCP connections of a data-plane thread, and whose connection makes room when
 * all are taken. Shared by the thread's TCP listeners.
 *
 * Nobody keeps others out (RFC 7766 §6.2.2, §6.2.3): a new connection above the bound takes the place
 * of the least recently active one of the client that holds most. A client is an IPv4 address or an
 * IPv6 /64, which one host can fill with addresses of its own. Activity is a whole question or an
 * answer: half a question sent byte by byte is none.
 *
 * Room is looked for among at most LIMITS.tcpConnectionsMax connections, one pass over them.
 */
import { LIMITS } from '../../contract/limits.ts';

/** Bounds that tests shorten. */
export interface TcpBounds {
  readonly idleMs: number;
  /** Over all listeners that share the clients. */
  readonly connectionsMax: number;
  /** Of one address. */
  readonly connectionsPerClientMax: number;
  /** In place of it for loopback addresses. */
  readonly connectionsPerLoopbackMax: number;
}

export const TCP_BOUNDS: TcpBounds = {
  idleMs: LIMITS.tcpIdleMs,
  connectionsMax: LIMITS.tcpConnectionsMax,
  connectionsPerClientMax: LIMITS.tcpConnectionsPerClientMax,
  connectionsPerLoopbackMax: LIMITS.tcpConnectionsPerLoopbackMax,
};

/** An open connection, as far as it matters here. */
export interface HeldConnection {
  /** 16 bytes, IPv4 as ::ffff:a.b.c.d. */
  readonly address: Uint8Array;
  /** As the socket prints it. */
  readonly addressText: string;
  /** Nothing is due in either direction. */
  readonly isIdle: boolean;
  /** Time of the last whole question or answer, milliseconds. */
  readonly activeMs: number;
  /** Closes at once to make room; it is no longer counted. */
  evict(): void;
}

const IPV4_AT = 12;
const IPV6_NETWORK_BYTES = 8;

export class TcpClients {
  readonly #byClient = new Map<string, Set<HeldConnection>>();
  /** Open connections by address. */
  readonly #byAddress = new Map<string, number>();
  #size = 0;

  /**
   * Whether one more connection may be opened; makes room for it if that can be done.
   *
   * @param address  16 bytes, as in HeldConnection
   * @param text     the same as the socket prints it
   */
  admit(address: Uint8Array, text: string, bounds: TcpBounds): boolean {
    if ((this.#byAddress.get(text) ?? 0) >= mostOf(text, bounds)) return false;
    if (this.#size < bounds.connectionsMax) return true;
    const victim = this.#victim(this.#byClient.get(clientKey(address)));
    if (victim === null) return false;
    this.closed(victim);
    victim.evict();
    return true;
  }

  opened(connection: HeldConnection): void {
    const { address, addressText } = connection;
    const key = clientKey(address);
    const held = this.#byClient.get(key);
    if (held === undefined) this.#byClient.set(key, new Set([connection]));
    else held.add(connection);
    this.#byAddress.set(addressText, (this.#byAddress.get(addressText) ?? 0) + 1);
    this.#size++;
  }

  /** Counts a connection no longer; does nothing for one that is not counted. */
  closed(connection: HeldConnection): void {
    const { address, addressText } = connection;
    const key = clientKey(address);
    const held = this.#byClient.get(key);
    if (held?.delete(connection) !== true) return;
    if (held.size === 0) this.#byClient.delete(key);
    const left = (this.#byAddress.get(addressText) ?? 1) - 1;
    if (left > 0) this.#byAddress.set(addressText, left);
    else this.#byAddress.delete(addressText);
    this.#size--;
  }

  /**
   * The connection that yields: of the clients that hold most, or of the newcomer himself when
   * nobody holds more than he. One with something due yields only to a client that holds far less.
   *
   * @param own  what the newcomer holds
   */
  #victim(own: ReadonlySet<HeldConnection> | undefined): HeldConnection | null {
    const ownSize = own?.size ?? 0;
    let most = 0;
    for (const held of this.#byClient.values()) most = Math.max(most, held.size);
    if (own !== undefined && ownSize >= most) return leastActive([own], false);
    const busiest = [...this.#byClient.values()].filter(({ size }) => size === most);
    return leastActive(busiest, most > ownSize + 1);
  }
}

/** The idle connection that was active the longest ago; on demand one that is not idle. */
function leastActive(
  clients: readonly ReadonlySet<HeldConnection>[],
  mayInterrupt: boolean,
): HeldConnection | null {
  let idle: HeldConnection | null = null;
  let busy: HeldConnection | null = null;
  for (const connection of clients.flatMap((held) => [...held])) {
    if (connection.isIdle) {
      if (idle === null || connection.activeMs < idle.activeMs) idle = connection;
    } else if (busy === null || connection.activeMs < busy.activeMs) busy = connection;
  }
  return idle ?? (mayInterrupt ? busy : null);
}

/** An IPv4 address, or the /64 of an IPv6 address. */
function clientKey(address: Uint8Array): string {
  const isV4 = address[10] === 0xff && address[11] === 0xff && isZero(address, 10);
  const bytes = isV4 ? address.subarray(IPV4_AT) : address.subarray(0, IPV6_NETWORK_BYTES);
  return Buffer.from(bytes).toString('hex');
}

function isZero(bytes: Uint8Array, count: number): boolean {
  for (let index = 0; index < count; index++) if (bytes[index] !== 0) return false;
  return true;
}

/** One loopback address stands for all programs of this machine, users and all. */
function mostOf(text: string, bounds: TcpBounds): number {
  const isLoopback = /^(::ffff:)?127\.|^::1$/.test(text);
  return isLoopback ? bounds.connectionsPerLoopbackMax : bounds.connectionsPerClientMax;
}
