/** Step 1 of the pipeline: what is no question for a gateway is turned away, in few bytes. */
import { OUTCOME, REASON, type Reason } from '../../contract/outcome.ts';
import {
  QUERY_EDNS_VERSION,
  QUERY_MALFORMED,
  QUERY_OK,
  QUERY_OPCODE,
  type QueryStatus,
} from '../query/query.ts';
import { writeEmpty } from '../answer/reply.ts';
import type { QueryContext } from '../query/query-context.ts';
import { CLASS, EDE, RCODE, TYPE } from '../../dns/wire.ts';

/** Answers a flawed query, or one of a kind that is not served; 0 lets it pass. */
export function reject(context: QueryContext, status: QueryStatus): number {
  if (status !== QUERY_OK) return rejectFlawed(context, status);
  const { type, qclass } = context.query;
  if (qclass !== CLASS.internet) {
    const written = rejectClass(context, type, qclass);
    if (written !== 0) return written;
  }
  return type >= TYPE.tkey || type === TYPE.opt ? rejectType(context, type) : 0;
}

/** Classes that are no part of the net are not served; unknown ones pass. */
function rejectClass(context: QueryContext, type: number, qclass: number): number {
  switch (qclass) {
    case CLASS.chaos:
      // version.bind and its kind are nobody's business.
      return refuse(context, type === TYPE.txt ? RCODE.refused : RCODE.notImp);
    case CLASS.hesiod:
    case CLASS.none:
    case CLASS.any:
      return refuse(context, RCODE.notImp);
    default:
      return 0;
  }
}

function rejectType(context: QueryContext, type: number): number {
  switch (type) {
    case TYPE.axfr:
    case TYPE.ixfr:
      return refuse(context, RCODE.refused);
    case TYPE.maila:
    case TYPE.mailb:
      return refuse(context, RCODE.notImp);
    // No question types. RFC 6891 §6.1.1, RFC 2930 §2, RFC 8945 §4.2.
    case TYPE.opt:
    case TYPE.tkey:
    case TYPE.tsig:
      return turnAway(context, RCODE.formErr, REASON.malformed);
    default:
      return 0;
  }
}

function rejectFlawed(context: QueryContext, status: QueryStatus): number {
  switch (status) {
    case QUERY_MALFORMED:
      return turnAway(context, RCODE.formErr, REASON.malformed);
    case QUERY_OPCODE:
      return refuse(context, RCODE.notImp);
    case QUERY_EDNS_VERSION:
      return refuse(context, RCODE.badVers);
    default:
      return 0;
  }
}

function refuse(context: QueryContext, rcode: number): number {
  return turnAway(context, rcode, REASON.notImplemented);
}

function turnAway(context: QueryContext, rcode: number, reason: Reason): number {
  context.outcome = OUTCOME.rejected;
  context.reason = reason;
  return writeEmpty(context, rcode, EDE.none);
}
