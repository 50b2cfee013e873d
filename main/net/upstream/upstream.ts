/**
 * One configured server as the upstream pool sees it: its address, its ways, its health, and what it
 * was found not to understand.
 */
import type { Clock, Random } from '../../engine/query/ports.ts';
import { TlsDialer } from '../transport/tls-dialer.ts';
import type { DialerOwner } from '../transport/tls-dialer.ts';
import { formatUpstream, isSecure, nameToResolve, upstreamKey } from '../upstream-address.ts';
import type { SecureServer, UpstreamServer } from '../upstream-address.ts';
import type { ExchangeOwner, Transport } from './attempt.ts';
import { UpstreamCookies } from './cookies.ts';
import { UpstreamHealth } from './health.ts';
import { openHttps } from './https.ts';
import { UpstreamQuirks } from './quirks.ts';
import { openTcp, TcpDialer } from './tcp.ts';
import { UpstreamUdp } from './udp.ts';
import { dgramClient } from '../transport/udp-client.ts';
import type { UdpClient } from '../transport/udp-client.ts';

/** What all upstreams of a pool share. */
export interface UpstreamPorts {
  readonly owner: ExchangeOwner;
  readonly random: Random;
  readonly clock: Clock;
  /** Sockets for plain servers; of node:dgram when not given. Whoever gave it closes it. */
  readonly udp?: UdpClient | undefined;
  /** PEM certificates to trust in place of those of the machine, for tests. */
  readonly authorities?: readonly string[] | undefined;
  /** A connection failed or an answer was refused: why; null when it is over. Changes only. */
  readonly onTrouble?: ((upstream: string, reason: string | null) => void) | undefined;
  /** No address of this host name could be connected to. */
  readonly onUnreachable?: ((host: string) => void) | undefined;
}

/** How an upstream is doing, for people. */
export interface UpstreamState {
  readonly upstream: string;
  readonly protocol: UpstreamServer['transport'];
  /** untried: not asked yet; unresolved: no address is known for its name. */
  readonly state: 'up' | 'slow' | 'down' | 'refusing' | 'untried' | 'unresolved';
  /** Smoothed round trip, microseconds; 0 when none was measured. */
  readonly roundTripUs: number;
  readonly sent: number;
  readonly answered: number;
  /** Questions without a reply in time, and connections that failed. */
  readonly failures: number;
  /** TLS connections made, and how many of them resumed a session. */
  readonly connections: number;
  readonly resumed: number;
  /** The last failure in words; '' when there is none. */
  readonly trouble: string;
  /** What it does not understand and is asked without for a while: "mixed case, EDNS"; '' for nothing. */
  readonly askedWithout: string;
}

/** A server and everything known about it. */
export class Upstream implements DialerOwner {
  /** Tells whether two settings mean the same server. */
  readonly key: string;
  /** For people. */
  readonly text: string;
  /** Asked by TCP or on top of it only. */
  readonly isStream: boolean;
  readonly isSecure: boolean;
  /** The name whose addresses `setAddresses` takes; '' for none. */
  readonly host: string;
  readonly cookies: UpstreamCookies;
  readonly quirks: UpstreamQuirks;
  /** Asked in mixed case, unless it does not understand it. */
  mixesCase = false;
  health = new UpstreamHealth();
  /** Index among the configured servers; -1 for a bootstrap server. */
  index: number;
  sent = 0;
  answered = 0;
  failures = 0;
  readonly #protocol: UpstreamServer['transport'];
  readonly #ports: UpstreamPorts;
  readonly #udp: UpstreamUdp | null;
  readonly #stream: Transport;
  readonly #dialer: TlsDialer | null;
  #connections = 0;
  #resumed = 0;
  #trouble = '';

  constructor(server: UpstreamServer, index: number, ports: UpstreamPorts, socketsMax: number) {
    const { owner, random, clock } = ports;
    this.key = upstreamKey(server);
    this.text = formatUpstream(server);
    this.host = nameToResolve(server);
    this.index = index;
    this.cookies = new UpstreamCookies(random);
    this.quirks = new UpstreamQuirks(random);
    this.#protocol = server.transport;
    this.#ports = ports;
    this.isSecure = isSecure(server);
    this.isStream = server.transport !== 'udp';
    if (isSecure(server)) {
      this.#dialer = this.#makeDialer(server);
      this.#udp = null;
      this.#stream =
        server.transport === 'https'
          ? openHttps(server, this.#dialer, ports, (reason) => {
              this.#say(reason);
            })
          : openTcp(this.#dialer, { owner, random, clock });
    } else {
      this.#dialer = null;
      this.#udp = new UpstreamUdp(server, owner, random, ports.udp ?? dgramClient, socketsMax);
      this.#stream = openTcp(new TcpDialer(server), { owner, random, clock });
    }
  }

  /** False while no address is known. */
  get isResolved(): boolean {
    return this.#dialer?.hasAddress ?? true;
  }

  get state(): UpstreamState {
    return {
      upstream: this.text,
      protocol: this.#protocol,
      state: this.#stateWord(),
      roundTripUs: Math.round(this.health.roundTripUs),
      sent: this.sent,
      answered: this.answered,
      failures: this.failures,
      connections: this.#connections,
      resumed: this.#resumed,
      trouble: this.#trouble,
      askedWithout: this.quirks.describe(this.#ports.clock.nowUs()),
    };
  }

  /** @param overTcp  by TCP, or by the only way there is */
  way(overTcp: boolean): Transport {
    return overTcp || this.#udp === null ? this.#stream : this.#udp;
  }

  /** Takes the addresses that `host` has. */
  setAddresses(addresses: readonly string[]): void {
    this.#dialer?.setAddresses(addresses);
  }

  /** Notes a verified reply. */
  replied(): void {
    // The first answer ends a trouble that a thread before this one may have told.
    const isFirst = this.answered++ === 0;
    if (this.#trouble === '' && !(isFirst && this.isSecure)) return;
    this.#trouble = '';
    this.#ports.onTrouble?.(this.text, null);
  }

  sweep(nowUs: number): void {
    this.#udp?.sweep(nowUs);
    this.#stream.sweep(nowUs);
  }

  rest(): void {
    this.#udp?.rest();
    this.#stream.rest();
  }

  /** After a change of network old sockets keep an address that leads nowhere. */
  renewSockets(): void {
    this.#udp?.retireAll();
  }

  /** Forgets what was learned, for another network. */
  forget(): void {
    this.health = new UpstreamHealth();
    this.quirks.forget();
    this.cookies.forget();
    this.#dialer?.forget();
  }

  /** Closes all sockets; what was in flight is reported as failed. */
  close(): void {
    this.#udp?.close();
    this.#stream.close();
  }

  // -- called by the dialer --------------------------------------------------------------------

  connected(wasResumed: boolean): void {
    this.#connections++;
    if (wasResumed) this.#resumed++;
  }

  notConnected(reason: string, isLastAddress: boolean): void {
    this.failures++;
    this.#say(reason);
    if (isLastAddress && this.host !== '') this.#ports.onUnreachable?.(this.host);
  }

  #makeDialer(server: SecureServer): TlsDialer {
    const { clock, authorities } = this.#ports;
    const protocols = server.transport === 'https' ? ['h2', 'http/1.1'] : [];
    return new TlsDialer({ server, owner: this, clock, protocols, authorities });
  }

  #stateWord(): UpstreamState['state'] {
    if (!this.isResolved) return 'unresolved';
    if (this.health.isRefusing) return 'refusing';
    const isSilent = this.health.isSilentAt(this.#ports.clock.nowUs());
    if (this.health.isDown || isSilent) return 'down';
    if (this.answered === 0) return 'untried';
    return this.health.rank === 0 ? 'up' : 'slow';
  }

  #say(reason: string): void {
    if (reason === this.#trouble) return;
    this.#trouble = reason;
    this.#ports.onTrouble?.(this.text, reason);
  }
}
