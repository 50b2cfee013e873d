/** What the steps work with: one object per engine, made by engine.ts. */
import type { AliasChain } from '../answer/alias-chain.ts';
import type { AnswerInspector, RebindingGuard } from '../answer/answer-inspector.ts';
import type { AnswerName } from '../answer/answer-name.ts';
import type { AnswerRewriter } from '../answer/answer-rewriter.ts';
import type { Answer, ReplyReader } from '../answer/answer.ts';
import type { AnswerCache } from '../cache/cache.ts';
import type { ClientGate } from './client-gate.ts';
import type { PendingQuestions } from './pending.ts';
import type { EngineConfig } from '../filter/engine-config.ts';
import type { Alarm, Clock, Exchange } from '../query/ports.ts';
import type { SuffixSet } from '../../dns/suffix-set.ts';
import type { Accounting } from './accounting.ts';
import type { QueryContext } from '../query/query-context.ts';

export interface EngineState {
  readonly context: QueryContext;
  readonly clock: Clock;
  readonly exchange: Exchange;
  readonly cache: AnswerCache;
  readonly pending: PendingQuestions;
  readonly accounting: Accounting;
  /** The view that cache look-ups fill. */
  readonly cached: Answer;
  readonly reader: ReplyReader;
  readonly inspector: AnswerInspector;
  readonly rewriter: AnswerRewriter;
  /** Of its own, because a query may come in while late answers are being sent. */
  readonly coverRewriter: AnswerRewriter;
  /** Aliases of ours that the answer begins with. */
  readonly chain: AliasChain;
  /** Scratch for names that answers lead to. */
  readonly targetName: AnswerName;
  /** Null: nobody is woken, stale answers are given when the upstreams have failed. */
  readonly alarm: Alarm | null;
  /** Null: everybody may ask as often as he likes. */
  readonly gate: ClientGate | null;
  /** Swapped by reference between two packets. */
  config: EngineConfig;
  /** Of the policy, ready for use. */
  guard: RebindingGuard;
  /** Of the policy: names that are never answered stale. */
  staleOff: SuffixSet;
  /** Until when no upstream counts as reachable; 0 after a reply. */
  downUntilTick: number;
  /** Questions in flight that nobody waits for. */
  refreshes: number;
  /** Origin of cache ticks, on the clock's own scale. */
  readonly originUs: number;
  isClosed: boolean;
  /** Toggles with each packet over the rate limit. */
  slips: number;
  /** The query on its way to `exchange`; UPSTREAM_QUERY_BYTES_MAX bytes. */
  readonly upstreamQuery: Uint8Array;
  /** Where late answers are written, one at a time; empty until the first is due. */
  lateAnswer: Uint8Array;
}
