/**
 * Everything the engine needs from outside, passed in: clock, random numbers, upstreams, the log
 * sink, counters and the client. The engine itself does no I/O; tests own time and network.
 */
import type { Outcome, Reason } from '../../contract/outcome.ts';

/** Time. Monotonic and wall clock are separate: a stepped wall clock must not age the cache. */
export interface Clock {
  /** Monotonic, in microseconds, any origin. May be fractional. */
  nowUs(): number;
  /** Wall clock, in milliseconds since 1970. */
  wallMs(): number;
}

/** Wakes the engine up later. */
export interface Alarm {
  /** Calls `run` once after at least `ms` milliseconds, never before this function has returned. */
  after(ms: number, run: () => void): void;
}

/** Unpredictable numbers, from a cryptographic source, refilled in bulk. */
export interface Random {
  /** 0..65535. */
  uint16(): number;
  /** 0..2^32-1. */
  uint32(): number;
}

/**
 * Who asked. Owned and overwritten by the listener; valid only during the call of
 * `Engine.handle`. What must outlive it is copied, or taken with `hold`.
 */
export interface Client {
  /** 16 bytes; IPv4 as ::ffff:a.b.c.d. */
  readonly address: Uint8Array;
  port: number;
  transport: 'udp' | 'tcp';
  /** Where a late answer to the current packet goes. Allocates; called once a pending query. */
  hold(): ReplyTo;
}

/** The way back to a client whose answer comes later. */
export interface ReplyTo {
  /**
   * Sends a whole DNS message, bytes[start, start + length); the bytes are reused afterwards. With
   * length 0, which happens over TCP only, nothing is sent: the query is done with.
   */
  send(bytes: Uint8Array, start: number, length: number): void;
}

/** Result of an upstream exchange. */
export interface ExchangeResult {
  /**
   * A verified reply (parses to its end; ID, question, case and address right; TC already followed
   * over TCP), or null when the budget ran out or every upstream failed. Valid only during the
   * callback: the engine copies what it keeps.
   */
  readonly reply: Uint8Array | null;
  /**
   * Set when reply is null. 'timeout': nobody answered in time; 'refused': no server could be asked;
   * 'full': too many questions; 'offline': nobody answers anything or can be reached at all, which
   * says nothing about the question.
   */
  readonly failure: 'timeout' | 'refused' | 'full' | 'offline' | null;
  /** Index into the configured upstreams of the one that answered or was asked last; -1 for none. */
  readonly upstream: number;
}

/** Sends one question upstream. Failover, retries, IDs, ports and verification are its business. */
export interface Exchange {
  /**
   * @param query   a complete query message with QDCOUNT 1 and an OPT record; the ID is replaced.
   *                Valid only during the call.
   * @param length  its length in bytes
   * @param done    called once, never before this function has returned; and once more if an answer
   *                comes after a failure was reported
   */
  exchange(query: Uint8Array, length: number, done: (result: ExchangeResult) => void): void;
}

/** What the log keeps about one answer. Owned and overwritten by the engine. */
export interface LogFacts {
  timeMs: number;
  /** 16 bytes as in Client. */
  address: Uint8Array;
  transport: 'udp' | 'tcp';
  /** Lower-case wire labels without root, name[0, nameLength). */
  name: Uint8Array;
  nameLength: number;
  type: number;
  qclass: number;
  rcode: number;
  outcome: Outcome;
  reason: Reason;
  /** Id of the list that decided (policy.ts); 0 for user rules, 65535 for none. */
  listId: number;
  /** Labels of the suffix that a rule named; 0 for none. */
  matchedLabels: number;
  /**
   * With reason cname, the name that a rule named, which the answer led to: wire labels,
   * matched[0, matchedLength). 0 otherwise.
   */
  matched: Uint8Array;
  matchedLength: number;
  /** As in ExchangeResult. */
  upstream: number;
  durationUs: number;
}

/** Takes a record of each answer. Must not wait and must not keep the object. */
export interface QuerySink {
  /** False when the record was dropped because the queue was full; the sink has counted it. */
  push(facts: LogFacts): boolean;
}

/** A thread's counter block; slots by COUNTER, buckets by histogramBucket. */
export interface Counters {
  /** COUNTER_BLOCK_SLOTS doubles (contract/counters.ts). */
  readonly slots: Float64Array;
}
