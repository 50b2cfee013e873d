/**
 * The table of questions in flight: identical ones share one upstream exchange.
 *
 * Identical means equal name, type, class, DO and CD, like the cache's key. What is the client's
 * own (ID, letter case, EDNS size, RD, AD, time of arrival) waits in its Waiter. Bounds: distinct
 * questions, waiters of one question, and waiters in all (contract/limits.ts).
 */
import { LIMITS } from '../../contract/limits.ts';
import type { Reason } from '../../contract/outcome.ts';
import type { SavedChain } from '../answer/alias-chain.ts';
import type { ReplyTo } from '../query/ports.ts';
import type { Query } from '../query/query.ts';
import type { QueryContext } from '../query/query-context.ts';

/** Questions with equal hashes that are told apart; one more is not joined by anybody. */
const SAME_HASH_MAX = 8;

/** A client that waits, with all that its answer and its log record need. */
export class Waiter {
  /** Its query, as Query.compact makes it. */
  readonly packet: Uint8Array;
  readonly to: ReplyTo;
  readonly address: Uint8Array;
  readonly transport: 'udp' | 'tcp';
  readonly startedUs: number;
  /** What the filter said before the question went upstream. */
  readonly reason: Reason;
  readonly listId: number;
  readonly matchedLabels: number;
  /** Aliases of ours that lead from its question to the one in flight; null when it is that. */
  readonly chain: SavedChain | null;

  constructor(context: QueryContext, to: ReplyTo, chain: SavedChain | null) {
    this.packet = context.query.compact();
    this.to = to;
    this.address = context.address.slice();
    this.transport = context.transport;
    this.startedUs = context.startedUs;
    this.reason = context.reason;
    this.listId = context.listId;
    this.matchedLabels = context.matchedLabels;
    this.chain = chain;
  }
}

/** One question in flight. */
export class PendingQuestion {
  readonly hash: number;
  /** The next one with the same hash. */
  next: PendingQuestion | null = null;
  waiters: Waiter[] = [];
  /** The question for when nobody waits for it any more; as Query.compact makes it. Once settled,
   * it is there: a late answer may come. */
  packet: Uint8Array | null = null;
  /** Asked for the cache's sake. */
  isRefresh = false;
  /** Those who wait will be given a stale answer after a while. */
  hasAlarm = false;
  /** They were. */
  isOverdue = false;
  isSettled = false;
  /** Answers were forgotten since it was asked: what comes is for those who wait, and not kept. */
  isOutdated = false;
  readonly #name: Uint8Array;
  readonly #type: number;
  readonly #qclass: number;
  readonly #keyBits: number;

  constructor(query: Query, hash: number) {
    this.hash = hash;
    this.#name = query.name.slice(0, query.nameLength);
    this.#type = query.type;
    this.#qclass = query.qclass;
    this.#keyBits = query.keyBits;
  }

  /** Lets go of those who waited; what was asked stays. */
  leave(): void {
    this.packet ??= this.waiters[0]?.packet ?? null;
    this.waiters = [];
  }

  isFor(query: Query): boolean {
    const name = this.#name;
    if (name.length !== query.nameLength || this.#keyBits !== query.keyBits) return false;
    if (this.#type !== query.type || this.#qclass !== query.qclass) return false;
    for (let index = 0; index < name.length; index++) {
      if (name[index] !== query.name[index]) return false;
    }
    return true;
  }
}

export class PendingQuestions {
  /** The first of those with one hash; the others hang on it. */
  readonly #byHash = new Map<number, PendingQuestion>();
  #size = 0;
  #waiters = 0;

  /** Distinct questions in flight. */
  get size(): number {
    return this.#size;
  }

  /** The question in flight that this query may join, if there is one. */
  find(query: Query, hash: number): PendingQuestion | null {
    let question = this.#byHash.get(hash) ?? null;
    while (question !== null && !question.isFor(query)) question = question.next;
    return question;
  }

  /** Opens a question; null when too many are open. */
  open(query: Query, hash: number): PendingQuestion | null {
    if (this.#size >= LIMITS.pendingQuestionsMax) return null;
    if (this.#waiters >= LIMITS.waitersMax) return null;
    const question = new PendingQuestion(query, hash);
    const first = this.#byHash.get(hash);
    if (first === undefined) this.#byHash.set(hash, question);
    else append(first, question);
    this.#size++;
    return question;
  }

  /** Whether one more client may wait for this question. */
  hasRoom(question: PendingQuestion): boolean {
    return (
      question.waiters.length < LIMITS.waitersPerQuestionMax && this.#waiters < LIMITS.waitersMax
    );
  }

  wait(question: PendingQuestion, waiter: Waiter): void {
    question.waiters.push(waiter);
    this.#waiters++;
  }

  /** Only these go on waiting; the others have been answered. */
  keepWaiting(question: PendingQuestion, waiters: Waiter[]): void {
    this.#waiters -= question.waiters.length - waiters.length;
    question.waiters = waiters;
  }

  /**
   * Lets nobody else join the questions in flight: answers are forgotten because other servers have
   * the word now, and what the former ones still say is not to be kept.
   */
  outdate(): void {
    for (const first of this.#byHash.values()) {
      for (let one: PendingQuestion | null = first; one !== null; one = one.next) {
        one.isOutdated = true;
      }
    }
    this.#byHash.clear();
  }

  /** Takes a question off the table, once. */
  settle(question: PendingQuestion): void {
    question.isSettled = true;
    this.#size--;
    this.#waiters -= question.waiters.length;
    this.#takeOut(question);
  }

  #takeOut(question: PendingQuestion): void {
    const { hash, next } = question;
    let before = this.#byHash.get(hash);
    if (before === question) {
      if (next === null) this.#byHash.delete(hash);
      else this.#byHash.set(hash, next);
    }
    while (before !== undefined && before.next !== question) before = before.next ?? undefined;
    if (before !== undefined) before.next = next;
    question.next = null;
  }
}

/** Hangs a question on others of its hash, unless they are too many. */
function append(first: PendingQuestion, question: PendingQuestion): void {
  let last = first;
  let count = 1;
  for (; last.next !== null; last = last.next) count++;
  if (count < SAME_HASH_MAX) last.next = question;
}
