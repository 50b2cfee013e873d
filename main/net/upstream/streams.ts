/**
 * The connections to one upstream, of TCP, TLS or HTTPS: which one a question takes, and what becomes
 * of those that wait when one ends. Used by the upstream pool in a data-plane thread; what is said on
 * a connection is in upstream-tcp.ts and upstream-https.ts.
 *
 *     attempt ─▶ a connection with room ─▶ reply
 *        │            │ closed, but it had answered something: again, on another connection
 *        │            │ closed without any answer: once more, then it is a failure of the server
 *        └─ queue ◀───┘ while all connections are busy
 *
 * A server may close a connection whenever it likes (RFC 7766 §6.2.4), and some do so after each
 * answer, or after a few. How many they gave is remembered for a while, so that the next connections
 * get no more questions than that, and others are opened beside them.
 */
import { LIMITS } from '../../contract/limits.ts';
import type { Clock, Random } from '../../engine/query/ports.ts';
import type { SendFailure } from '../transport/network-error.ts';
import type { Dialer } from '../transport/tls-dialer.ts';
import type { Attempt, Connection, ExchangeOwner, Transport } from './attempt.ts';

/** Connections without any answer that one question may see, while others get none either. */
const DEAD_ENDS_MAX = 3;
/** Wait after such a connection, doubled by each that follows; and how long questions wait for it. */
const PAUSE_FIRST_US = 20_000;
const PAUSE_LAST_US = 2_000_000;
const PAUSE_WAITED_US = 200_000;
/** A bound that was learned is doubled after so long, and forgotten above the second. */
const LEARNED_US = 10_000_000;
const ANSWERS_LEARNED_MAX = 64;
/** Questions without an answer that show a server to ignore all but the first ones. */
const IGNORED_MIN = 4;
/** When all connections have got so many, and none of them says anything for so long, it was wrong. */
const BOUND_DOUBTED_US = 500_000;
/** Silence after which a suspect connection is replaced when there is no room for another. */
const SUSPECT_US = 2_000_000;

/** What a connection needs of its upstream. */
export interface StreamPorts {
  readonly owner: ExchangeOwner;
  readonly random: Random;
  readonly clock: Clock;
}

/** One connection, with the attempts that wait on it. */
export abstract class StreamConnection implements Connection {
  /** Questions given to it, and answers to them. */
  taken = 0;
  answered = 0;
  /** Time of the last question, for the idle check. */
  usedUs = 0;
  /** Time of the last sign of life; -1 before the first. */
  heardUs = -1;
  /** Said nothing while a question was due, since then: probably dead, others are preferred. */
  suspectUs = -1;
  protected readonly home: UpstreamStreams;
  #isClosed = false;

  constructor(home: UpstreamStreams) {
    this.home = home;
  }

  /** Connected, and verified if it is encrypted. */
  abstract get isOpen(): boolean;
  /** Questions that wait on it. */
  abstract get load(): number;
  /** Questions that may wait on it. */
  abstract get capacity(): number;
  /** Takes a question. Reports nothing before it has returned. */
  abstract send(attempt: Attempt, nowUs: number): void;
  abstract forget(attempt: Attempt): void;
  /** Ends the socket; called once. */
  protected abstract end(): void;
  protected abstract takeWaiting(): Attempt[];
  /** A question got no answer in time. */
  protected abstract suspect(): void;

  /** Another connection is opened for the next question, if that is allowed. */
  get isBusy(): boolean {
    return this.load >= this.home.dialer.busyQuestions;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get isSuspect(): boolean {
    return this.suspectUs >= 0;
  }

  get isSound(): boolean {
    return !this.isSuspect;
  }

  doubt(attempt: Attempt): void {
    if (this.isSuspect || this.#isClosed || this.heardUs >= attempt.sentUs) return;
    this.suspectUs = this.home.ports.clock.nowUs();
    if (this.answered > 0 && this.taken - this.answered >= IGNORED_MIN) {
      this.home.learn(this.answered);
    }
    this.suspect();
  }

  /** Closes; what waits fails, with nobody to blame. */
  fail(): void {
    const waiting = this.abandon();
    for (const attempt of waiting) this.home.ports.owner.failed(attempt, 'closed');
  }

  /** Closes. @returns what waited */
  abandon(): Attempt[] {
    const waiting = this.takeWaiting();
    this.close();
    return waiting;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.home.removed(this);
    this.end();
  }

  /** The server closed it, or it did not come about. */
  protected breakOff(failure: SendFailure): void {
    if (this.#isClosed) return;
    this.home.ended(this, this.abandon(), failure);
  }

  /** Bytes came that show the server alive. */
  heard(): void {
    this.heardUs = this.home.ports.clock.nowUs();
    this.suspectUs = -1;
  }
}

/** The connections of one server. */
export class UpstreamStreams implements Transport, Connection {
  readonly isSound = true;
  readonly dialer: Dialer;
  readonly ports: StreamPorts;
  readonly #open: (home: UpstreamStreams) => StreamConnection | null;
  readonly #connections = new Set<StreamConnection>();
  /** Attempts that wait for room; at most LIMITS.upstreamTcpQueueMax. */
  readonly #queue = new Set<Attempt>();
  /** Answers that the server gives on one connection, and connections that it takes. */
  #answersMax = Infinity;
  #connectionsMax: number = LIMITS.upstreamTcpConnectionsMax;
  #learnedUs = 0;
  /** Answers so far; connections without one since the last. */
  #answers = 0;
  #deadEnds = 0;
  #pauseUntilUs = 0;
  #timer: NodeJS.Timeout | null = null;
  #isClosing = false;

  /** @param open  opens a connection; null when none can be */
  constructor(
    dialer: Dialer,
    ports: StreamPorts,
    open: (home: UpstreamStreams) => StreamConnection | null,
  ) {
    this.dialer = dialer;
    this.ports = ports;
    this.#open = open;
  }

  send(attempt: Attempt, nowUs: number): boolean {
    const connection = this.#choose(nowUs);
    if (connection !== null) {
      this.#give(connection, attempt, nowUs);
      return true;
    }
    if (this.#connections.size === 0 || this.#queue.size >= LIMITS.upstreamTcpQueueMax) {
      return false;
    }
    this.#enqueue(attempt);
    if (this.#answersMax !== Infinity) this.#pumpAfter(BOUND_DOUBTED_US);
    return true;
  }

  sweep(nowUs: number): void {
    for (const connection of this.#connections) {
      const idleUs = nowUs - connection.usedUs;
      if (connection.load === 0 && idleUs > this.dialer.idleMs * 1000) connection.close();
    }
  }

  /** Encrypted connections close by themselves: a handshake costs more than a quiet socket. */
  rest(): void {
    if (this.dialer.isCheap) this.sweep(Infinity);
  }

  close(): void {
    this.#isClosing = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const queued = [...this.#queue];
    this.#queue.clear();
    for (const connection of [...this.#connections]) connection.fail();
    for (const attempt of queued) this.ports.owner.failed(attempt, 'closed');
    this.#isClosing = false;
    this.#answersMax = Infinity;
    this.#connectionsMax = LIMITS.upstreamTcpConnectionsMax;
    this.#deadEnds = 0;
    this.#pauseUntilUs = 0;
  }

  // -- as the carrier of what is queued --------------------------------------------------------

  forget(attempt: Attempt): void {
    this.#queue.delete(attempt);
  }

  doubt(): void {
    // It has not been sent yet.
  }

  // -- called by connections -------------------------------------------------------------------

  /** A connection is closed. */
  removed(connection: StreamConnection): void {
    this.#connections.delete(connection);
  }

  /** A connection has ended by itself. @param waiting  what was not answered on it */
  ended(connection: StreamConnection, waiting: readonly Attempt[], failure: SendFailure): void {
    const nowUs = this.ports.clock.nowUs();
    const isAlive = connection.answered > 0 || this.#hasSound;
    if (waiting.length > 0) this.#learnFrom(connection, failure, nowUs);
    for (const attempt of waiting) this.sendAgain(attempt, isAlive, failure);
    this.pump(failure);
  }

  /**
   * An attempt got no answer on its connection and takes another, unless that is of no use.
   *
   * @param isAlive  the server answers others
   */
  sendAgain(attempt: Attempt, isAlive: boolean, failure: SendFailure): void {
    const isReachable = failure === 'closed' || this.#hasSound;
    const mayWait = isReachable && !attempt.exchange.isFinished;
    if (mayWait && (isAlive || attempt.deadEnd(this.#answers) < DEAD_ENDS_MAX)) {
      this.#enqueue(attempt);
    } else {
      this.ports.owner.failed(attempt, failure);
    }
  }

  /** A question was answered, or the connection is of no use for it: it may go another way. */
  freed(connection: StreamConnection): void {
    const isSpent = connection.load === 0 && connection.taken >= this.#answersMax;
    if (isSpent || (connection.isSuspect && connection.load === 0)) connection.close();
    this.pump('closed');
  }

  /** A verified connection brought an answer. */
  worked(): void {
    this.#answers++;
    this.#deadEnds = 0;
    this.#pauseUntilUs = 0;
  }

  /** Gives attempts back that a connection cannot carry after all. */
  requeue(attempts: readonly Attempt[]): void {
    for (const attempt of attempts) this.#enqueue(attempt);
    this.pump('closed');
  }

  /** A server gives so many answers on one connection. */
  learn(answers: number): void {
    this.#answersMax = answers > ANSWERS_LEARNED_MAX ? Infinity : Math.max(answers, 1);
    this.#learnedUs = this.ports.clock.nowUs();
  }

  /** Sends what is queued, as far as there is room. */
  pump(failure: SendFailure): void {
    if (this.#isClosing || this.#queue.size === 0) return;
    const nowUs = this.ports.clock.nowUs();
    for (const attempt of this.#queue) {
      const connection = this.#choose(nowUs);
      if (connection === null) break;
      this.#queue.delete(attempt);
      this.#give(connection, attempt, nowUs);
    }
    if (this.#connections.size > 0 || this.#queue.size === 0) return;
    const pauseUs = Math.max(this.#pauseUntilUs, this.dialer.pauseUntilUs) - nowUs;
    if (pauseUs > 0 && pauseUs < PAUSE_WAITED_US) {
      this.#pumpAfter(pauseUs);
      return;
    }
    const stranded = [...this.#queue];
    this.#queue.clear();
    for (const attempt of stranded) this.ports.owner.failed(attempt, failure);
  }

  /** Another connection is open, and not in doubt. */
  get #hasSound(): boolean {
    for (const { isOpen, isSound } of this.#connections) if (isOpen && isSound) return true;
    return false;
  }

  #pumpAfter(us: number): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null;
      this.pump('closed');
    }, us / 1_000).unref();
  }

  // -- choosing --------------------------------------------------------------------------------

  #give(connection: StreamConnection, attempt: Attempt, nowUs: number): void {
    attempt.sentUs = nowUs;
    connection.taken++;
    connection.usedUs = nowUs;
    connection.send(attempt, nowUs);
  }

  #enqueue(attempt: Attempt): void {
    attempt.carryBy(this, 0);
    attempt.sentUs = Infinity;
    this.#queue.add(attempt);
  }

  #choose(nowUs: number): StreamConnection | null {
    this.#relax(nowUs);
    const quietest = this.#quietest(false);
    if (quietest?.isBusy === false) return quietest;
    const found = this.#openOne(nowUs) ?? quietest ?? this.#replaceSuspect(nowUs);
    if (found !== null || !this.#isBoundDoubtful(nowUs)) return found;
    this.#answersMax = Infinity;
    return this.#quietest(false);
  }

  /** Names that nobody answers look as if the server ignored all questions but the first ones. */
  #isBoundDoubtful(nowUs: number): boolean {
    if (this.#answersMax === Infinity) return false;
    for (const { usedUs, heardUs } of this.#connections) {
      if (nowUs - Math.max(usedUs, heardUs) < BOUND_DOUBTED_US) return false;
    }
    return true;
  }

  /** The one with the fewest questions that has room for another. */
  #quietest(isSuspect: boolean): StreamConnection | null {
    let best: StreamConnection | null = null;
    for (const connection of this.#connections) {
      if (connection.isSuspect !== isSuspect || connection.taken >= this.#answersMax) continue;
      if (connection.load >= connection.capacity) continue;
      if (best === null || connection.load < best.load) best = connection;
    }
    return best;
  }

  #openOne(nowUs: number): StreamConnection | null {
    const isFull = this.#connections.size >= this.#connectionsMax;
    if (isFull || this.#isClosing || nowUs < this.#pauseUntilUs) return null;
    const opened = this.#open(this);
    if (opened === null) return null;
    opened.usedUs = nowUs;
    this.#connections.add(opened);
    return opened;
  }

  /**
   * Every connection is suspect or full. Silence for one name says little about a connection, so the
   * quietest of the suspect ones is used; but one that has been silent for long makes room.
   */
  #replaceSuspect(nowUs: number): StreamConnection | null {
    for (const connection of this.#connections) {
      if (connection.capacity > 0 && !connection.isSuspect) continue;
      const isSpent = connection.isSuspect && connection.taken >= this.#answersMax;
      const sinceUs = Math.max(connection.suspectUs, connection.heardUs, connection.usedUs);
      if (!isSpent && nowUs - sinceUs < SUSPECT_US) continue;
      for (const attempt of connection.abandon()) this.#enqueue(attempt);
      // Not now: the pool may be sending.
      setImmediate(() => this.pump('closed'));
      return this.#openOne(nowUs);
    }
    return this.#quietest(true);
  }

  // -- learning --------------------------------------------------------------------------------

  #learnFrom(connection: StreamConnection, failure: SendFailure, nowUs: number): void {
    if (connection.answered === 0 && this.#hasSound) {
      // It takes no connection beside the others.
      this.#connectionsMax = this.#connections.size;
      this.#learnedUs = nowUs;
      return;
    }
    if (failure === 'closed') this.learn(connection.answered);
    if (connection.answered > 0) return;
    const pauseUs = PAUSE_FIRST_US * 2 ** Math.min(this.#deadEnds++, 10);
    this.#pauseUntilUs = nowUs + Math.min(pauseUs, PAUSE_LAST_US);
  }

  /** What was learned may be over, or have been wrong. */
  #relax(nowUs: number): void {
    if (nowUs - this.#learnedUs < LEARNED_US) return;
    this.#learnedUs = nowUs;
    this.#connectionsMax = LIMITS.upstreamTcpConnectionsMax;
    const doubled = this.#answersMax * 2;
    this.#answersMax = doubled > ANSWERS_LEARNED_MAX ? Infinity : doubled;
  }
}
