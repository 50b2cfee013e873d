/** Builds the query that goes upstream. Called by steps/forward.ts. */
import { LIMITS } from '../../contract/limits.ts';
import type { Query } from '../query/query.ts';
import {
  copyBytes,
  FLAG,
  HEADER_BYTES,
  OPT_BYTES,
  QUESTION_BYTES_MAX,
  TYPE,
  writeUint16,
} from '../../dns/wire.ts';

/** Room that `writeUpstreamQuery` needs. */
export const UPSTREAM_QUERY_BYTES_MAX = HEADER_BYTES + QUESTION_BYTES_MAX + OPT_BYTES;

/**
 * Writes a query of our own for the client's question: nothing else of the client's packet leaves
 * the machine, so neither its cookies nor its subnet (RFC 7873 §5.1, RFC 7871 §11.1) do.
 *
 * ID 0, RD set, CD copied, the name in lower case, OPT with our size and DO copied. AD is always
 * set: it asks for the upstream's verdict (RFC 6840 §5.7), which then is in the cache for whoever
 * wants it; others do not get to see it.
 *
 * @param out  UPSTREAM_QUERY_BYTES_MAX bytes
 * @returns    its length
 */
export function writeUpstreamQuery(query: Query, out: Uint8Array): number {
  out.fill(0, 0, HEADER_BYTES);
  out[2] = FLAG.recursionDesired;
  out[3] = FLAG.authenticated | (query.flagsLow & FLAG.checkingDisabled);
  out[5] = 1;
  out[11] = 1;
  copyBytes(query.name, 0, out, HEADER_BYTES, query.nameLength);
  let at = HEADER_BYTES + query.nameLength;
  out[at++] = 0;
  writeUint16(out, at, query.type);
  writeUint16(out, at + 2, query.qclass);
  at += 4;
  out.fill(0, at, at + OPT_BYTES);
  writeUint16(out, at + 1, TYPE.opt);
  writeUint16(out, at + 3, LIMITS.udpPayloadBytes);
  if (query.dnssecOk) out[at + 7] = 0x80;
  return at + OPT_BYTES;
}
