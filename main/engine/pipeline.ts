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
 *     │                       look at names they lead to                    steps/response-filter.ts
 *     │ forward               join the same question in flight, or ask      steps/forward.ts
 *     ▼                                │
 *   answer now                         └── later: complete: inspect, cache, answer steps/complete.ts
 *     │                                             │
 *     └──────────── accounting: counters, latency, log ──┘                       accounting.ts
 *
 * Each step returns the length of the answer it wrote, or 0 to let the query pass.
 */
import type { EngineState } from './state/engine-state.ts';
import { QUERY_IGNORED, type QueryStatus } from './query/query.ts';
import { answerAny } from './steps/any.ts';
import { answerFromCache } from './steps/cached.ts';
import { filter } from './steps/filter.ts';
import { forward, refresh } from './steps/forward.ts';
import { answerLocalRecord } from './steps/local-records.ts';
import { reject } from './steps/reject.ts';
import { answerSpecialName } from './steps/special-names.ts';
import type { QueryContext } from './query/query-context.ts';

/**
 * Takes a query that was read through the steps. `state.context` says who asked and where the answer
 * goes.
 *
 * @param status  of the reading
 * @returns       bytes written; 0 for silence; LATER when the answer comes through the client's
 *                hold()
 */
export function runPipeline(state: EngineState, status: QueryStatus): number {
  const { context, config, cache } = state;
  if (status === QUERY_IGNORED) return 0;
  context.limitAnswer();
  let written = reject(context, status);
  if (written === 0) written = answerLocalRecord(context, state);
  if (written === 0) written = answerSpecialName(context, config);
  if (written === 0) written = filter(context, state);
  if (context.isDropped) return 0;
  if (written === 0) written = answerAny(context);
  if (written !== 0) return written;
  const hash = cache.keyHash(context.query);
  written = answerFromCache(context, hash, state);
  if (written === 0) return isSilent(context) ? 0 : forward(context, hash, state);
  if (context.wantsRefresh) refresh(context, hash, state);
  return written;
}

/** Whether a rule about an address in the cached answer wants no answer at all. */
function isSilent({ isDropped }: QueryContext): boolean {
  return isDropped;
}
