/**
 * Writes a question for the addresses of a host, and reads them out of a reply that was verified
 * (dns/reply-check.ts). Used by bootstrap.ts.
 */
import { writeName } from '../../dns/name.ts';
import {
  CLASS,
  FLAG,
  HEADER_BYTES,
  OPT_BYTES,
  QUESTION_BYTES_MAX,
  RCODE,
  readUint16,
  RECORD_FIXED_BYTES,
  skipName,
  TYPE,
  writeUint16,
} from '../../dns/wire.ts';
import { LIMITS } from '../../contract/limits.ts';
import { rcodeOf } from './message.ts';

/** @returns  a complete query with RD and OPT, or null when the text is no domain name */
export function writeQuestion(hostname: string, family: 4 | 6): Buffer | null {
  const query = Buffer.alloc(HEADER_BYTES + QUESTION_BYTES_MAX + OPT_BYTES);
  const nameBytes = writeName(hostname, query, HEADER_BYTES);
  if (nameBytes <= 0) return null;
  let at = HEADER_BYTES + nameBytes + 1;
  query[2] = FLAG.recursionDesired;
  writeUint16(query, 4, 1);
  writeUint16(query, 10, 1);
  writeUint16(query, at, family === 4 ? TYPE.a : TYPE.aaaa);
  writeUint16(query, at + 2, CLASS.internet);
  at += 4;
  writeUint16(query, at + 1, TYPE.opt);
  writeUint16(query, at + 3, LIMITS.udpPayloadBytes);
  return query.subarray(0, at + OPT_BYTES);
}

/**
 * @param reply  well-formed to its end
 * @returns      the addresses in its answer section, in its order, aliases left out; null when the
 *               server could not answer (SERVFAIL and the like)
 */
export function readAddresses(reply: Uint8Array, family: 4 | 6, max: number): string[] | null {
  const rcode = rcodeOf(reply);
  if (rcode !== RCODE.noError) return rcode === RCODE.nxDomain ? [] : null;
  const type = family === 4 ? TYPE.a : TYPE.aaaa;
  const size = family === 4 ? 4 : 16;
  const addresses: string[] = [];
  let at = skipName(reply, HEADER_BYTES, reply.length) + 4;
  for (let left = readUint16(reply, 6); left > 0 && addresses.length < max; left--) {
    const fixed = skipName(reply, at, reply.length);
    const data = fixed + RECORD_FIXED_BYTES;
    const dataBytes = readUint16(reply, fixed + 8);
    if (readUint16(reply, fixed) === type && dataBytes === size) {
      addresses.push(printAddress(reply.subarray(data, data + size)));
    }
    at = data + dataBytes;
  }
  return addresses;
}

/** IPv6 without "::", which every parser takes. */
function printAddress(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups: string[] = [];
  for (let at = 0; at < 16; at += 2) groups.push(readUint16(bytes, at).toString(16));
  return groups.join(':');
}
