/**
 * The one context object of a query on its way through the pipeline. One per engine, reused: a
 * packet is answered, or its facts are copied into a Waiter, before the next one is looked at.
 */
import { LIMITS } from '../../contract/limits.ts';
import { OUTCOME, REASON, type Outcome, type Reason } from '../../contract/outcome.ts';
import { createMatchContext } from '../filter/match-context.ts';
import { LIST_ID_NONE } from '../filter/engine-config.ts';
import type { Client } from './ports.ts';
import { Query } from './query.ts';
import type { Rewrite } from '../filter/rule-set.ts';
import { VERDICT_NONE, type Verdict } from '../filter/verdict.ts';

/** `upstream` when none was asked. */
export const UPSTREAM_NONE = -1;

const NO_BYTES = new Uint8Array(0);

export class QueryContext {
  /** Of the packet that is being answered: its own, or one that was read ahead. */
  query = new Query();

  /** What rules look at beside the name; filled by the steps that ask them. */
  readonly matchContext = createMatchContext();

  /** Who asked; null while a late answer is written. */
  client: Client | null = null;
  /** 16 bytes as in Client; not owned. */
  address: Uint8Array = NO_BYTES;
  transport: 'udp' | 'tcp' = 'udp';
  /** Monotonic time of receipt, microseconds. */
  startedUs = 0.5;
  /** Monotonic time in cache ticks (cache.ts). */
  tick = 0;

  /** Where the answer is written: out[outStart, outStart + limitBytes). */
  out: Uint8Array = NO_BYTES;
  outStart = 0;
  /** Longest answer this client may get now; see `limitAnswer`. */
  limitBytes: number = LIMITS.udpPayloadBytesPlain;

  /** What becomes of the query; logged and counted when it is answered. */
  outcome: Outcome = OUTCOME.local;
  reason: Reason = REASON.none;
  rcode = 0;
  listId = LIST_ID_NONE;
  matchedLabels = 0;
  upstream = UPSTREAM_NONE;
  isTruncated = false;
  /** A name further on that a rule named, matched[0, matchedLength): wire labels without root. */
  readonly matched = new Uint8Array(LIMITS.nameBytesMax);
  matchedLength = 0;

  /** What the filter said of the name. */
  verdict: Verdict = VERDICT_NONE;
  /** What the rule answers by which an address in the answer is blocked; null: as the settings say. */
  rewrite: Rewrite | null = null;
  /** Nothing is to be answered, but it is counted and logged. */
  isDropped = false;
  /** There is an expired answer in reserve. */
  hasStale = false;
  /** An answer was given from the cache, which should be fetched anew. */
  wantsRefresh = false;
  /** The client asks more often than it may. */
  isLimited = false;
  /** A probe of the takeover: nobody's question, so it is neither counted as one nor logged. */
  isProbe = false;

  /** Forgets the query before this one. */
  begin(out: Uint8Array, outStart: number, nowUs: number, tick: number): void {
    this.startedUs = nowUs;
    this.tick = tick;
    this.out = out;
    this.outStart = outStart;
    this.outcome = OUTCOME.local;
    this.reason = REASON.none;
    this.rcode = 0;
    this.listId = LIST_ID_NONE;
    this.matchedLabels = 0;
    this.upstream = UPSTREAM_NONE;
    this.isTruncated = false;
    this.matchedLength = 0;
    this.verdict = VERDICT_NONE;
    this.isDropped = false;
    this.isLimited = false;
    this.hasStale = false;
    this.wantsRefresh = false;
    this.isProbe = false;
  }

  /**
   * Sets the size limit, once the query is read: what the client advertised, but at most 1232 and
   * at least 512 bytes over UDP (RFC 6891 §6.2.3, RFC 9715 §3.1).
   */
  limitAnswer(): void {
    if (this.transport === 'tcp') this.limitBytes = LIMITS.messageBytesMax;
    else if (!this.query.hasEdns) this.limitBytes = LIMITS.udpPayloadBytesPlain;
    else {
      const size = Math.max(this.query.ednsSize, LIMITS.udpPayloadBytesPlain);
      this.limitBytes = Math.min(size, LIMITS.udpPayloadBytes);
    }
  }
}
