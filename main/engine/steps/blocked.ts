/**
 * What is answered in place of a name's own records without asking anybody: the answer that the
 * settings choose for a blocked name, or the one that a rule has. Written by several steps.
 */
import { OUTCOME } from '../../contract/outcome.ts';
import type { EngineConfig } from '../filter/engine-config.ts';
import {
  writeEmpty,
  writeNegative,
  writeOne,
  writeRecords,
  writeTruncated,
} from '../answer/reply.ts';
import type { Rewrite } from '../filter/rule-set.ts';
import type { QueryContext } from '../query/query-context.ts';
import { EDE, RCODE, TYPE } from '../../dns/wire.ts';

const NULL_V4 = new Uint8Array(4);
const NULL_V6 = new Uint8Array(16);

/** Writes it; outcome and reason are the caller's. */
export function writeBlocked(context: QueryContext, config: EngineConfig): number {
  const ttl = config.blockingTtlSeconds;
  switch (config.blockingAnswer) {
    case 'refused':
      return writeEmpty(context, RCODE.refused, EDE.blocked);
    case 'nxdomain':
      return writeNegative(context, RCODE.nxDomain, 0, ttl, false, EDE.blocked);
    case 'nodata':
      return writeNegative(context, RCODE.noError, 0, ttl, false, EDE.blocked);
    case 'null-address': {
      const { type } = context.query;
      if (type === TYPE.a) return writeOne(context, type, ttl, NULL_V4, false, EDE.blocked);
      if (type === TYPE.aaaa) return writeOne(context, type, ttl, NULL_V6, false, EDE.blocked);
      return writeNegative(context, RCODE.noError, 0, ttl, false, EDE.blocked);
    }
  }
}

/**
 * Writes the answer of a rule that names no other name.
 *
 * @returns  bytes written; 0 with context.isDropped
 */
export function writeRewrite(
  context: QueryContext,
  rewrite: Rewrite,
  config: EngineConfig,
): number {
  context.outcome = OUTCOME.blocked;
  if (rewrite.drop) {
    context.isDropped = true;
    return 0;
  }
  if (rewrite.tcpOnly === true) return writeTruncated(context);
  if (rewrite.rcode !== RCODE.noError && rewrite.rcode !== RCODE.nxDomain) {
    return writeEmpty(context, rewrite.rcode, EDE.blocked);
  }
  const { records, rcode } = rewrite;
  if (records.length > 0) context.outcome = OUTCOME.local;
  if (has(rewrite, context.query.type)) {
    return writeRecords(context, null, records, false, EDE.forgedAnswer);
  }
  const ede = records.length > 0 ? EDE.forgedAnswer : EDE.blocked;
  return writeNegative(context, rcode, 0, config.blockingTtlSeconds, false, ede);
}

function has({ records }: Rewrite, type: number): boolean {
  for (const record of records) if (record.type === type) return true;
  return false;
}
