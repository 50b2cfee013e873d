/** Step 4 of the pipeline: ANY is answered with one small record. RFC 8482 §4.2. */
import { OUTCOME, REASON } from '../../contract/outcome.ts';
import { writeOne } from '../answer/reply.ts';
import type { QueryContext } from '../query/query-context.ts';
import { CLASS, EDE, TYPE } from '../../dns/wire.ts';

/** CPU "RFC8482", OS "". */
const HINFO_DATA = Uint8Array.from([7, ...Buffer.from('RFC8482'), 0]);
/** Long, so that whoever asks does not soon ask again. */
const ANY_TTL_SECONDS = 3_600;

/** Answers a question of type ANY; 0 lets every other one pass. */
export function answerAny(context: QueryContext): number {
  if (context.query.type !== TYPE.any || context.query.qclass !== CLASS.internet) return 0;
  context.outcome = OUTCOME.local;
  context.reason = REASON.none;
  return writeOne(context, TYPE.hinfo, ANY_TTL_SECONDS, HINFO_DATA, false, EDE.none);
}
