/** What the steps work with: one object per engine, made by engine.ts. */
import type { Answer, ReplyReader } from './answer.ts';
import type { AnswerCache } from './cache.ts';
import type { PendingQuestions } from './pending.ts';
import type { Policy } from './policy.ts';
import type { Clock, Exchange } from './ports.ts';
import type { Tally } from './tally.ts';
import type { Turn } from './turn.ts';

export interface Parts {
  readonly turn: Turn;
  readonly clock: Clock;
  readonly exchange: Exchange;
  readonly cache: AnswerCache;
  readonly pending: PendingQuestions;
  readonly tally: Tally;
  /** The view that cache look-ups fill. */
  readonly cached: Answer;
  readonly reader: ReplyReader;
  /** Swapped by reference between two packets. */
  policy: Policy;
  /** Origin of cache ticks, on the clock's own scale. */
  readonly originUs: number;
  isClosed: boolean;
  /** The query on its way to `exchange`; UPSTREAM_QUERY_BYTES_MAX bytes. */
  readonly upstreamQuery: Uint8Array;
  /** Where late answers are written, one at a time; empty until the first is due. */
  lateAnswer: Uint8Array;
}
