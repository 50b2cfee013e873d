/** The answer that the settings choose for a blocked name. Written by several steps. */
import type { Policy } from '../policy.ts';
import { writeEmpty, writeNegative, writeOne } from '../reply.ts';
import type { Turn } from '../turn.ts';
import { EDE, RCODE, TYPE } from '../wire.ts';

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
