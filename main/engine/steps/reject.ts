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
import type { Turn } from '../query/turn.ts';
import { CLASS, EDE, RCODE, TYPE } from '../../dns/wire.ts';

/** Answers a flawed query, or one of a kind that is not served; 0 lets it pass. */
export function reject(turn: Turn, status: QueryStatus): number {
  if (status !== QUERY_OK) return rejectFlawed(turn, status);
  const { type, qclass } = turn.query;
  if (qclass !== CLASS.internet) {
    const written = rejectClass(turn, type, qclass);
    if (written !== 0) return written;
  }
  return type >= TYPE.tkey || type === TYPE.opt ? rejectType(turn, type) : 0;
}

/** Classes that are no part of the net are not served; unknown ones pass. */
function rejectClass(turn: Turn, type: number, qclass: number): number {
  switch (qclass) {
    case CLASS.chaos:
      // version.bind and its kind are nobody's business.
      return refuse(turn, type === TYPE.txt ? RCODE.refused : RCODE.notImp);
    case CLASS.hesiod:
    case CLASS.none:
    case CLASS.any:
      return refuse(turn, RCODE.notImp);
    default:
      return 0;
  }
}

function rejectType(turn: Turn, type: number): number {
  switch (type) {
    case TYPE.axfr:
    case TYPE.ixfr:
      return refuse(turn, RCODE.refused);
    case TYPE.maila:
    case TYPE.mailb:
      return refuse(turn, RCODE.notImp);
    // No question types. RFC 6891 §6.1.1, RFC 2930 §2, RFC 8945 §4.2.
    case TYPE.opt:
    case TYPE.tkey:
    case TYPE.tsig:
      return turnAway(turn, RCODE.formErr, REASON.malformed);
    default:
      return 0;
  }
}

function rejectFlawed(turn: Turn, status: QueryStatus): number {
  switch (status) {
    case QUERY_MALFORMED:
      return turnAway(turn, RCODE.formErr, REASON.malformed);
    case QUERY_OPCODE:
      return refuse(turn, RCODE.notImp);
    case QUERY_EDNS_VERSION:
      return refuse(turn, RCODE.badVers);
    default:
      return 0;
  }
}

function refuse(turn: Turn, rcode: number): number {
  return turnAway(turn, rcode, REASON.notImplemented);
}

function turnAway(turn: Turn, rcode: number, reason: Reason): number {
  turn.outcome = OUTCOME.rejected;
  turn.reason = reason;
  return writeEmpty(turn, rcode, EDE.none);
}
