/**
 * Opens TLS connections to one server and makes sure that it is the one that was meant. Used by the
 * DoT and DoH ways of an upstream, in a data-plane thread.
 *
 *     dial ─▶ TCP to one address ─▶ handshake ─▶ certificate, name, pins ─▶ ready
 *               │ fails: the next address next time        │ fails: closed, nothing was sent
 *
 * TLS 1.2 or later, the strict profile of RFC 8310 §5: no way around a certificate that does not
 * fit. The session of a verified connection is kept for the next one (RFC 8446 §2.2). node:tls is
 * loaded at the first call, so that a program with plain upstreams never pays for it.
 */
import type { Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import { isIP } from 'node:net';
import { AppError } from '../../contract/errors.ts';
import type { Clock } from '../../engine/query/ports.ts';
import { explainFailure, pinTrouble } from './certificate-check.ts';
import { machineTrust, TrustStore } from '../trust-store.ts';
import type { SecureServer } from '../upstream-address.ts';

/** What opens connections of one kind to one server. */
export interface Dialer {
  /** Questions on one connection above which another is opened. */
  readonly busyQuestions: number;
  /** Idle time after which a connection is closed. */
  readonly idleMs: number;
  /** To open one costs less than to keep it. */
  readonly isCheap: boolean;
  /** After failures `dial` returns null until then, on the clock. */
  readonly pauseUntilUs: number;
  /**
   * @param ready  called once when bytes may be sent; never after the socket's `close`
   * @returns      the socket, whose `close` event tells the end; null without an address, or for a
   *               while after a failure
   */
  dial(ready: () => void): Socket | null;
  /** The last connection attempt does not get on: another address next time. */
  doubt(): void;
}

/** What a dialer tells. */
export interface DialerOwner {
  /** A verified connection stands. */
  connected(wasResumed: boolean): void;
  /** A connection did not come about. @param isLastAddress  all addresses have failed in turn */
  notConnected(reason: string, isLastAddress: boolean): void;
}

export interface TlsDialerOptions {
  readonly server: SecureServer;
  readonly owner: DialerOwner;
  readonly clock: Clock;
  /** Application protocols to offer (ALPN), the best first; the server may choose none. */
  readonly protocols: readonly string[];
  /** PEM certificates to trust in place of those of the machine, for tests. */
  readonly authorities?: readonly string[] | undefined;
}

/** RFC 7858 §3.4 leaves it to the client; servers close after about ten to thirty seconds. */
const IDLE_MS = 30_000;
/** Wait after all addresses have failed in turn: doubles from the first to the last. */
const BACKOFF_FIRST_US = 50_000;
const BACKOFF_LAST_US = 2_000_000;
/** A connection that we gave up after so long was not answered; earlier, it was not needed. */
const GIVEN_UP_US = 500_000;
/** Servers that answer out of order take many questions on one connection. */
const BUSY_QUESTIONS = 64;

/** Opens verified connections to one server. */
export class TlsDialer implements Dialer {
  readonly busyQuestions = BUSY_QUESTIONS;
  readonly idleMs = IDLE_MS;
  readonly isCheap = false;
  readonly #options: TlsDialerOptions;
  #addresses: readonly string[];
  /** Index of the address to try next. */
  #next = 0;
  /** Failed in turn since the last success. */
  #failedInTurn = 0;
  pauseUntilUs = 0;
  #session: Buffer | null = null;
  readonly #trust: TrustStore;

  constructor(options: TlsDialerOptions) {
    this.#options = options;
    const { authorities } = options;
    this.#trust = authorities === undefined ? machineTrust : new TrustStore(authorities);
    const { host, addresses } = options.server;
    this.#addresses = isIP(host) > 0 && addresses.length === 0 ? [host] : addresses;
  }

  get hasAddress(): boolean {
    return this.#addresses.length > 0;
  }

  /** Takes the addresses that the host name has now. */
  setAddresses(addresses: readonly string[]): void {
    if (addresses.join() === this.#addresses.join()) return;
    this.#addresses = addresses;
    this.#next = 0;
    this.#failedInTurn = 0;
    this.pauseUntilUs = 0;
  }

  /** For another network: an observer must not see the old session there (RFC 8446 §C.4). */
  forget(): void {
    this.#session = null;
    this.#failedInTurn = 0;
    this.pauseUntilUs = 0;
  }

  doubt(): void {
    this.#next++;
  }

  dial(ready: () => void): TLSSocket | null {
    const address = this.#addresses[this.#next % Math.max(this.#addresses.length, 1)];
    const startedUs = this.#options.clock.nowUs();
    if (address === undefined || startedUs < this.pauseUntilUs) return null;
    const { context } = this.#trust;
    const socket = this.#connect(address, context);
    socket.unref();
    socket.setNoDelay(true);
    let isReady = false;
    let failure: NodeJS.ErrnoException | null = null;
    socket.on('error', (error) => {
      failure ??= error;
    });
    socket.on('close', () => {
      if (!isReady) this.#failed(failure, startedUs, context);
    });
    let session: Buffer | null = null;
    socket.on('session', (ticket) => {
      session = ticket;
      if (isReady) this.#session = ticket;
    });
    socket.once('secureConnect', () => {
      const trouble = pinTrouble(socket, this.#options.server);
      if (trouble !== '') {
        socket.destroy(new AppError('INTERNAL', trouble));
        return;
      }
      isReady = true;
      this.#failedInTurn = 0;
      if (session !== null) this.#session = session;
      this.#options.owner.connected(socket.isSessionReused());
      ready();
    });
    return socket;
  }

  #connect(address: string, secureContext: SecureContext): TLSSocket {
    const tls = process.getBuiltinModule('node:tls');
    const { server, protocols } = this.#options;
    const { certificateName, pins, port } = server;
    return tls.connect({
      host: address,
      port,
      secureContext,
      minVersion: 'TLSv1.2',
      // A pinned key needs no authority and no date. RFC 7858 §4.2.
      rejectUnauthorized: pins.length === 0,
      checkServerIdentity: (_host, certificate) =>
        pins.length > 0 ? undefined : tls.checkServerIdentity(certificateName, certificate),
      ...(isIP(certificateName) > 0 ? {} : { servername: certificateName }),
      ...(protocols.length === 0 ? {} : { ALPNProtocols: [...protocols] }),
      ...(this.#session === null ? {} : { session: this.#session }),
    });
  }

  /** @param error  null when we closed it ourselves */
  #failed(error: NodeJS.ErrnoException | null, startedUs: number, used: SecureContext): void {
    const { server, owner, clock } = this.#options;
    const nowUs = clock.nowUs();
    if (error === null && nowUs - startedUs < GIVEN_UP_US) return;
    // An authority of the machine vouches for it, perhaps: the next connection tells.
    if (this.#trust.refresh(error, used)) return;
    this.#next++;
    this.#session = null;
    this.#failedInTurn++;
    const rounds = Math.floor(this.#failedInTurn / this.#addresses.length);
    const isLastAddress = this.#failedInTurn % this.#addresses.length === 0;
    if (isLastAddress) {
      const doublings = Math.min(rounds - 1, 10);
      this.pauseUntilUs = nowUs + Math.min(BACKOFF_FIRST_US * 2 ** doublings, BACKOFF_LAST_US);
    }
    const reason =
      error === null ? 'it does not answer' : explainFailure(error, server, clock.wallMs());
    owner.notConnected(reason, isLastAddress);
  }
}
