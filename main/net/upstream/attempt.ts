/**
 * The two records of the upstream pool: a question in flight, and one sending of it to one server.
 */
import type { ExchangeResult } from '../../engine/query/ports.ts';
import type { WheelEntry } from './timer-wheel.ts';
import type { SendFailure } from '../transport/network-error.ts';
import type { UpstreamGroup } from './group.ts';
import { RANK } from './message.ts';
import { OMIT_CASE, OMIT_OPT } from './quirks.ts';
import type { Upstream } from './upstream.ts';

/** Why an attempt is made the way it is. */
export type AttemptPurpose =
  | 'ask'
  /** The server refused the form of the question: again without OPT. */
  | 'without-edns'
  /** The server wants its fresh cookie in the question: again with it. RFC 7873 §5.3. */
  | 'with-cookie'
  /** The reply may be about the letter case: again in lower case. */
  | 'plain-case'
  /** The reply lacks what a forger cannot know (case, cookie): again over TCP, where nobody can forge. */
  | 'check';

/** What made a reply of a server doubtful or no answer yet, so that it was asked again: a bit each. */
export const DOUBT = { case: 1, opt: 2, cookie: 4, wrongCase: 8, bare: 16, broken: 32 } as const;

/** A reply that is no positive answer, and how it was asked for. */
export interface NegativeReply {
  readonly upstream: Upstream;
  /** OMIT_ bits of upstream-quirks.ts. */
  readonly omits: number;
  /** See replyRank. */
  readonly rank: number;
}

/** What carries attempts: a UDP socket or a TCP connection. */
export interface Connection {
  /** What it takes arrives, as far as is known; then it need not be sent again soon. */
  readonly isSound: boolean;
  /** No longer waits for the attempt. */
  forget(attempt: Attempt): void;
  /** The attempt was silent for longer than expected; the next one had better go another way. */
  doubt(attempt: Attempt): void;
}

/** One way to a server: its UDP sockets, its TCP or TLS connections, or its HTTP/2 sessions. */
export interface Transport {
  /** Sends the attempt, perhaps after connecting. False when it cannot take it. */
  send(attempt: Attempt, nowUs: number): boolean;
  /** Closes what is too old. */
  sweep(nowUs: number): void;
  /** Nothing is in flight for a while: closes what costs more to keep than to open again. */
  rest(): void;
  /** Closes everything; what was in flight fails. */
  close(): void;
}

/** What carriers report to. Never called before `send` has returned. */
export interface ExchangeOwner {
  /** Bytes arrived under the attempt's ID; not verified yet. The attempt is still waited for. */
  replied(attempt: Attempt, bytes: Buffer): void;
  /** The attempt got no reply and is no longer carried. @param failure  why */
  failed(attempt: Attempt, failure: SendFailure): void;
  /** Bytes arrived under an ID that nobody waits for. */
  strayed(): void;
}

/**
 * A question in flight. One object a question, all fields set at once.
 *
 *     asking ──answer──────────────────────────────▶ finished; a late reply tells that a server lives
 *       └──failure──▶ reported, still listening ──late answer, or the end──▶ finished
 */
export class PendingExchange implements WheelEntry {
  /** The engine's query, copied. */
  readonly query: Uint8Array;
  readonly questionEnd: number;
  readonly done: (result: ExchangeResult) => void;
  readonly startedUs: number;
  /** When the asker is told that nobody answers. */
  readonly deadlineUs: number;
  /** The same, but sooner while offline, or when there is a failure to give. */
  answerByUs: number;
  /** Until when replies are taken, if only to learn that a server lives. */
  listenUntilUs: number;
  /** The servers it may be asked at; another group when the settings change meanwhile. */
  group: UpstreamGroup;
  /** Servers in the order to ask, as it was when the question came or its last round began. */
  order: readonly Upstream[];
  /** How often `order` was stepped through, over all rounds. */
  cursor = 0;
  /** Attempts not answered yet. */
  readonly attempts: Attempt[] = [];
  sent = 0;
  /** Index of the server asked last. */
  asked = -1;
  /** A SERVFAIL, or what is still to be confirmed, that is given when nobody knows better. */
  fallback: Buffer | null = null;
  fallbackIndex = -1;
  #fallbackRank = Infinity;
  /** What is being confirmed in a plainer form. */
  negative: NegativeReply | null = null;
  /** DOUBT bits of the servers asked again. */
  #doubts: Map<Upstream, number> | null = null;
  /** Servers that answered SERVFAIL or the like; they are to blame when another knows better. */
  refusers: Upstream[] | null = null;
  /** Set after every server has refused at once; then they are tried once more. */
  isLastRound = false;
  /** Counts among the questions that may be in flight while offline. */
  isOfflineQuestion = false;
  /** `done` was called; an answer that comes later goes to it as well. */
  isReported = false;
  /** No answer is wanted any more. */
  isFinished = false;
  /** A server has really answered, not only refused. */
  isAnswered = false;
  /** Counts among those that listen on. */
  isListening = false;
  wheelNext: WheelEntry | null = null;
  wheelPrevious: WheelEntry | null = null;
  wheelTick = -1;

  /** @param nowUs  on the pool's clock */
  constructor(
    query: Uint8Array,
    questionEnd: number,
    done: (result: ExchangeResult) => void,
    nowUs: number,
    budgetUs: number,
    listenUs: number,
    group: UpstreamGroup,
    order: readonly Upstream[],
  ) {
    this.query = query;
    this.questionEnd = questionEnd;
    this.done = done;
    this.startedUs = nowUs;
    this.deadlineUs = nowUs + budgetUs;
    this.answerByUs = this.deadlineUs;
    this.listenUntilUs = nowUs + listenUs;
    this.group = group;
    this.order = order;
  }

  /** Notes a doubt about a server's reply. @returns whether it is the first of its kind */
  doubt(upstream: Upstream, kind: number): boolean {
    this.#doubts ??= new Map();
    const known = this.#doubts.get(upstream) ?? 0;
    this.#doubts.set(upstream, known | kind);
    return (known & kind) === 0;
  }

  hasDoubted(upstream: Upstream, kind: number): boolean {
    return ((this.#doubts?.get(upstream) ?? 0) & kind) !== 0;
  }

  /** Keeps a reply for when nobody knows better; of two the one of lower rank. Not copied. */
  offer(reply: Buffer, rank: number, upstream: Upstream): void {
    if (rank >= this.#fallbackRank) return;
    this.fallback = reply;
    this.fallbackIndex = upstream.index;
    this.#fallbackRank = rank;
  }

  /** What its failure is laid to before any server. */
  get zone(): string {
    return this.group.zoneOf(this.query, this.questionEnd);
  }
}

/** One sending of a question. */
export class Attempt {
  readonly exchange: PendingExchange;
  readonly upstream: Upstream;
  readonly purpose: AttemptPurpose;
  /** As sent, ID and letter case included; owned by the attempt, since sending is asynchronous. */
  readonly query: Buffer;
  readonly hasOpt: boolean;
  /** Its letters are not those of the engine's query. */
  readonly hasRandomCase: boolean;
  /** When it left; moved forward while a connection is being made. */
  sentUs: number;
  /** By TCP or on top of it, where replies cannot be forged from off the path. */
  overTcp = false;
  /** The client cookie it carries; null for none. RFC 7873 §4. */
  cookie: Buffer | null = null;
  /** Where its name belongs, for upstream-quirks.ts. */
  zone = 0;
  /** Sent to a server that was down, in a plainer form than usual. */
  isPlainProbe = false;
  /** What can be used of its reply; set by verifyReply. */
  reply: Buffer | null = null;
  /** The RANK of that; useless when it is truncated. */
  rank: number = RANK.useless;
  /** Seconds that the reply spent in an HTTP cache. RFC 8484 §5.1. */
  ageSeconds = 0;
  /** Its silence was noted. */
  isMissed = false;
  id = -1;
  connection: Connection | null = null;
  #deadEnds = 0;
  #deadEndAnswers = -1;

  constructor(
    exchange: PendingExchange,
    upstream: Upstream,
    purpose: AttemptPurpose,
    query: Buffer,
    hasOpt: boolean,
    hasRandomCase: boolean,
    sentUs: number,
  ) {
    this.exchange = exchange;
    this.upstream = upstream;
    this.purpose = purpose;
    this.query = query;
    this.hasOpt = hasOpt;
    this.hasRandomCase = hasRandomCase;
    this.sentUs = sentUs;
  }

  /** What it was asked without: OMIT_ bits. */
  get omits(): number {
    return (this.hasRandomCase ? 0 : OMIT_CASE) | (this.hasOpt ? 0 : OMIT_OPT);
  }

  /** It waits for a connection; then `sentUs` lies in the future. */
  get isQueued(): boolean {
    return this.sentUs === Infinity;
  }

  /**
   * A connection closed under it without having answered anything.
   *
   * @param answers  that the server has given until now
   * @returns        how often that was since it gave the last one
   */
  deadEnd(answers: number): number {
    this.#deadEnds = answers === this.#deadEndAnswers ? this.#deadEnds + 1 : 1;
    this.#deadEndAnswers = answers;
    return this.#deadEnds;
  }

  /** Gives it to a carrier under an ID that is free there. */
  carryBy(carrier: Connection, id: number): void {
    this.connection = carrier;
    this.id = id;
    this.query.writeUInt16BE(id, 0);
  }
}
