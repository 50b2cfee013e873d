/**
 * The path of one query, in order.
 *
 *   packet in
 *     │ query.read            bytes to question and EDNS, in place          query.ts
 *     │ reject                flawed, foreign or forbidden questions        steps/reject.ts
 *     │ answerLocalRecord     local records of the settings                 steps/local-records.ts
 *     │ answerSpecialName     localhost, .local, private reverse zones ...  steps/special-names.ts
 *     │ filter                rules, policies, services, lists; what they   steps/filter.ts
 *     │                       rewrite, and who asks                         steps/rewrite.ts
 *     │ answerAny             ANY gets one small record                     steps/any.ts
 *     │ answerFromCache       fresh answers, remembered failures; second    steps/cached.ts
 *     │                       look at names they lead to                    steps/second-look.ts
 *     │ forward               join the same question in flight, or ask      steps/forward.ts
 *     ▼                                │
 *   answer now                         └── later: settle: inspect, cache, answer steps/settle.ts
 *     │                                             │
 *     └──────────── tally: counters, latency, log ──┘                       tally.ts
 *
 * Each step returns the length of the answer it wrote, or 0 to let the query pass.
 */
import type { Parts } from './state/parts.ts';
import { QUERY_IGNORED, type QueryStatus } from './query/query.ts';
import { answerAny } from './steps/any.ts';
import { answerFromCache } from './steps/cached.ts';
import { filter } from './steps/filter.ts';
import { forward, refresh } from './steps/forward.ts';
import { answerLocalRecord } from './steps/local-records.ts';
import { reject } from './steps/reject.ts';
import { answerSpecialName } from './steps/special-names.ts';
import type { Turn } from './query/turn.ts';

/**
 * Takes a query that was read through the steps. `parts.turn` says who asked and where the answer
 * goes.
 *
 * @param status  of the reading
 * @returns       bytes written; 0 for silence; LATER when the answer comes through the client's
 *                hold()
 */
export function runPipeline(parts: Parts, status: QueryStatus): number {
  const { turn, policy, cache } = parts;
  if (status === QUERY_IGNORED) return 0;
  turn.limitAnswer();
  let written = reject(turn, status);
  if (written === 0) written = answerLocalRecord(turn, parts);
  if (written === 0) written = answerSpecialName(turn, policy);
  if (written === 0) written = filter(turn, parts);
  if (turn.isDropped) return 0;
  if (written === 0) written = answerAny(turn);
  if (written !== 0) return written;
  const hash = cache.keyHash(turn.query);
  written = answerFromCache(turn, hash, parts);
  if (written === 0) return isSilent(turn) ? 0 : forward(turn, hash, parts);
  if (turn.wantsRefresh) refresh(turn, hash, parts);
  return written;
}

/** Whether a rule about an address in the cached answer wants no answer at all. */
function isSilent({ isDropped }: Turn): boolean {
  return isDropped;
}
