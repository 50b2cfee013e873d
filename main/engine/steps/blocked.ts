/**
 * What is answered in place of a name's own records without asking anybody: the answer that the
 * settings choose for a blocked name, or the one that a rule has. Written by several steps.
 */
import { OUTCOME } from '../../contract/outcome.ts';
import type { Policy } from '../filter/policy.ts';
import {
  writeEmpty,
  writeNegative,
  writeOne,
  writeRecords,
  writeTruncated,
} from '../answer/reply.ts';
import type { Rewrite } from '../filter/rule-set.ts';
import type { Turn } from '../query/turn.ts';
import { EDE, RCODE, TYPE } from '../../dns/wire.ts';

const NULL_V4 = new Uint8Array(4);
const NULL_V6 = new Uint8Array(16);

/** Writes it; outcome and reason are the caller's. */
export function writeBlocked(turn: Turn, policy: Policy): number {
  const ttl = policy.blockingTtlSeconds;
  switch (policy.blockingAnswer) {
    case 'refused':
      return writeEmpty(turn, RCODE.refused, EDE.blocked);
    case 'nxdomain':
      return writeNegative(turn, RCODE.nxDomain, 0, ttl, false, EDE.blocked);
    case 'nodata':
      return writeNegative(turn, RCODE.noError, 0, ttl, false, EDE.blocked);
    case 'null-address': {
      const { type } = turn.query;
      if (type === TYPE.a) return writeOne(turn, type, ttl, NULL_V4, false, EDE.blocked);
      if (type === TYPE.aaaa) return writeOne(turn, type, ttl, NULL_V6, false, EDE.blocked);
      return writeNegative(turn, RCODE.noError, 0, ttl, false, EDE.blocked);
    }
  }
}

/**
 * Writes the answer of a rule that names no other name.
 *
 * @returns  bytes written; 0 with turn.isDropped
 */
export function writeRewrite(turn: Turn, rewrite: Rewrite, policy: Policy): number {
  turn.outcome = OUTCOME.blocked;
  if (rewrite.drop) {
    turn.isDropped = true;
    return 0;
  }
  if (rewrite.tcpOnly === true) return writeTruncated(turn);
  if (rewrite.rcode !== RCODE.noError && rewrite.rcode !== RCODE.nxDomain) {
    return writeEmpty(turn, rewrite.rcode, EDE.blocked);
  }
  const { records, rcode } = rewrite;
  if (records.length > 0) turn.outcome = OUTCOME.local;
  if (has(rewrite, turn.query.type)) {
    return writeRecords(turn, null, records, false, EDE.forgedAnswer);
  }
  const ede = records.length > 0 ? EDE.forgedAnswer : EDE.blocked;
  return writeNegative(turn, rcode, 0, policy.blockingTtlSeconds, false, ede);
}

function has({ records }: Rewrite, type: number): boolean {
  for (const record of records) if (record.type === type) return true;
  return false;
}
