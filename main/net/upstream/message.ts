/**
 * The bytes of a question on its way upstream: fresh ID, random letter case ("0x20"), with or
 * without OPT and its options; and what is left of it in a reply. Used by the upstream pool.
 *
 * Random case adds about a bit a letter to the 16 of the ID and those of the port that a forger has
 * to guess; honest servers copy the question as it was (draft-vixie-dnsext-dns0x20).
 */
import type { Random } from '../../engine/query/ports.ts';
import {
  copyBytes,
  FLAG,
  HEADER_BYTES,
  OPT_BYTES,
  RCODE,
  readUint16,
  readUint32,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  TYPE,
  writeUint16,
  writeUint32,
} from '../../dns/wire.ts';

/** Where ARCOUNT stands. RFC 1035 §4.1.1. */
const ARCOUNT_AT = 10;
const QDCOUNT_AT = 4;
const CASE_BIT = 0x20;
const NO_OPTIONS = new Uint8Array(0);
/** RFC 7830 §3; the block is RFC 8467 §4.1's for queries. */
const OPTION_PADDING = 12;
const PADDING_BLOCK_BYTES = 128;
const OPTION_FIXED_BYTES = 4;
const OPTION_COOKIE = 10;
const COOKIE_BYTES_MAX = 40;
const RCODE_BAD_COOKIE = 23;
/** Those above speak of EDNS or of signed transactions, not of the name. RFC 6895 §2.3. */
const EXTENDED_RCODES_FROM = 15;

/**
 * Copies a query for one attempt; its ID is written by whoever sends it.
 *
 * @param random   source of the letter case; null keeps the case
 * @param keepOpt  false cuts off what follows the question, which is the OPT record
 * @param options  for the OPT record, when it is kept and has none
 */
export function copyQuery(
  query: Uint8Array,
  end: number,
  random: Random | null,
  keepOpt: boolean,
  options: Uint8Array = NO_OPTIONS,
): Buffer {
  const length = keepOpt ? query.length : end;
  const takesOptions = length === end + OPT_BYTES && options.length > 0;
  const copy = Buffer.allocUnsafe(length + (takesOptions ? options.length : 0));
  copyBytes(query, 0, copy, 0, length);
  if (takesOptions) {
    writeUint16(copy, length - 2, options.length);
    copyBytes(options, 0, copy, length, options.length);
  }
  if (!keepOpt) writeUint16(copy, ARCOUNT_AT, 0);
  if (random !== null) mixCase(copy, end - 4, random);
  return copy;
}

/** The padding option that makes an encrypted query of this length a multiple of 128 bytes. */
export function paddingFor(queryBytes: number): Buffer {
  const bare = queryBytes + OPTION_FIXED_BYTES;
  const padding = Math.ceil(bare / PADDING_BLOCK_BYTES) * PADDING_BLOCK_BYTES - bare;
  const option = Buffer.alloc(OPTION_FIXED_BYTES + padding);
  option.writeUInt16BE(OPTION_PADDING, 0);
  option.writeUInt16BE(padding, 2);
  return option;
}

/** The cookie option: our part and, once it is known, the server's. RFC 7873 §4. */
export function cookieOption(client: Uint8Array, server: Uint8Array): Buffer {
  const head = Buffer.alloc(OPTION_FIXED_BYTES);
  head.writeUInt16BE(OPTION_COOKIE, 0);
  head.writeUInt16BE(client.length + server.length, 2);
  return Buffer.concat([head, client, server]);
}

/** The OPT record of a verified reply: offset of its fixed part; -1 without one. */
function findOpt(reply: Uint8Array, end: number): number {
  let at = end;
  const count = readUint16(reply, 6) + readUint16(reply, 8) + readUint16(reply, ARCOUNT_AT);
  for (let left = count; left > 0; left--) {
    const fixed = skipName(reply, at, reply.length);
    const next = recordEnd(reply, fixed, reply.length);
    if (next < 0) return -1;
    if (readUint16(reply, fixed) === TYPE.opt) return fixed;
    at = next;
  }
  return -1;
}

/** The whole cookie of a verified reply; null without one. */
export function readCookie(reply: Buffer, end: number): Buffer | null {
  const fixed = findOpt(reply, end);
  if (fixed < 0) return null;
  const dataEnd = recordEnd(reply, fixed, reply.length);
  let at = fixed + RECORD_FIXED_BYTES;
  while (at + OPTION_FIXED_BYTES <= dataEnd) {
    const size = readUint16(reply, at + 2);
    const data = at + OPTION_FIXED_BYTES;
    if (readUint16(reply, at) === OPTION_COOKIE && size <= COOKIE_BYTES_MAX) {
      return reply.subarray(data, Math.min(data + size, dataEnd));
    }
    at = data + size;
  }
  return null;
}

/** Response code 23, of which the upper eight bits stand in OPT. RFC 7873 §8, RFC 6891 §6.1.3. */
export function isBadCookie(reply: Uint8Array, end: number): boolean {
  if (rcodeOf(reply) !== (RCODE_BAD_COOKIE & 0x0f)) return false;
  const fixed = findOpt(reply, end);
  return fixed >= 0 && reply[fixed + 4] === RCODE_BAD_COOKIE >> 4;
}

/** Takes the time in an HTTP cache off every TTL of a verified reply. RFC 8484 §5.1. */
export function ageReply(reply: Uint8Array, end: number, ageSeconds: number): void {
  let at = end;
  const count = readUint16(reply, 6) + readUint16(reply, 8) + readUint16(reply, ARCOUNT_AT);
  for (let left = count; left > 0; left--) {
    const fixed = skipName(reply, at, reply.length);
    const next = recordEnd(reply, fixed, reply.length);
    if (next < 0) return;
    if (readUint16(reply, fixed) !== TYPE.opt) {
      writeUint32(reply, fixed + 4, Math.max(readUint32(reply, fixed + 4) - ageSeconds, 0));
    }
    at = next;
  }
}

/** Length bytes are at most 63 and so never taken for letters. */
function mixCase(query: Uint8Array, end: number, random: Random): void {
  let bits = 0;
  let left = 0;
  for (let at = HEADER_BYTES; at < end; at++) {
    const byte = query[at] as number;
    if (!isLetter(byte)) continue;
    if (left === 0) {
      bits = random.uint32();
      left = 32;
    }
    if ((bits & 1) !== 0) query[at] = byte ^ CASE_BIT;
    bits >>>= 1;
    left--;
  }
}

/** Whether two messages have the same name, letter case included. @param end  behind the question */
export function hasSameName(left: Uint8Array, right: Uint8Array, end: number): boolean {
  for (let at = HEADER_BYTES; at < end; at++) if (left[at] !== right[at]) return false;
  return true;
}

/** DO of a query made by the engine. RFC 3225 §3. */
export function wantsDnssec(query: Uint8Array, end: number): boolean {
  return query.length === end + OPT_BYTES && ((query[end + 7] as number) & 0x80) !== 0;
}

/** How a reply fits a query. */
export type Fit = 'same' | 'other-case' | 'no-question' | 'foreign';

/**
 * Compares ID, opcode, and the question with its letter case.
 *
 * "no-question": an error that has the ID alone, as some servers refuse what they do not understand
 * (RFC 6891 §7). A forger needs to guess less for it.
 *
 * @param end  behind the query's question
 */
export function fitOf(reply: Uint8Array, query: Uint8Array, end: number): Fit {
  const isReply =
    reply.length >= HEADER_BYTES &&
    readUint16(reply, 0) === readUint16(query, 0) &&
    ((reply[2] as number) & (FLAG.response | FLAG.opcode)) === FLAG.response;
  if (!isReply) return 'foreign';
  const questions = readUint16(reply, QDCOUNT_AT);
  if (questions === 0) return isServerFailure(rcodeOf(reply)) ? 'no-question' : 'foreign';
  return questions === 1 && reply.length >= end ? fitOfQuestion(reply, query, end) : 'foreign';
}

function fitOfQuestion(reply: Uint8Array, query: Uint8Array, end: number): Fit {
  let fit: Fit = 'same';
  const nameEnd = end - 4;
  for (let at = HEADER_BYTES; at < end; at++) {
    const difference = (reply[at] as number) ^ (query[at] as number);
    if (difference === 0) continue;
    const isCase = difference === CASE_BIT && at < nameEnd && isLetter(reply[at] as number);
    if (!isCase) return 'foreign';
    fit = 'other-case';
  }
  return fit;
}

/** A reply of ours that has nothing but the query's question and a response code. */
export function emptyReply(query: Uint8Array, end: number, rcode: number): Buffer {
  const reply = Buffer.from(query.subarray(0, end));
  reply[2] = FLAG.response | (reply[2] as number);
  reply[3] = FLAG.recursionAvailable | rcode;
  reply.fill(0, 6, HEADER_BYTES);
  return reply;
}

/** The whole response code of a well-formed reply; its upper eight bits stand in OPT. RFC 6891 §6.1.3. */
export function extendedRcodeOf(reply: Uint8Array, end: number): number {
  const fixed = findOpt(reply, end);
  return rcodeOf(reply) | (fixed < 0 ? 0 : (reply[fixed + 4] as number) << 4);
}

/** How much a reply helps, least is best. */
export const RANK = { positive: 0, noData: 1, nxDomain: 2, failure: 3, useless: 4 } as const;

/** The RANK of a well-formed reply. */
export function replyRank(reply: Uint8Array, end: number): number {
  const rcode = extendedRcodeOf(reply, end);
  if (rcode === RCODE.noError) return readUint16(reply, 6) > 0 ? RANK.positive : RANK.noData;
  return isServerFailure(rcode) ? RANK.failure : RANK.nxDomain;
}

export function isTruncated(reply: Uint8Array): boolean {
  return ((reply[2] as number) & FLAG.truncated) !== 0;
}

/** The four bits of RCODE in the header. */
export function rcodeOf(reply: Uint8Array): number {
  return (reply[3] as number) & 0x0f;
}

/** FORMERR, NOTIMP or BADVERS: the server may understand the same question without OPT. */
export function isFormRefusal(rcode: number): boolean {
  return rcode === RCODE.formErr || rcode === RCODE.notImp || rcode === RCODE.badVers;
}

/** Whether another server may know better. */
export function isServerFailure(rcode: number): boolean {
  const isRefusal = rcode === RCODE.refused || isFormRefusal(rcode);
  return rcode === RCODE.servFail || isRefusal || rcode > EXTENDED_RCODES_FROM;
}

/** Gives a reply the ID and the question of `query`, which differ at most in letter case. */
export function restoreQuestion(reply: Uint8Array, query: Uint8Array, end: number): void {
  copyBytes(query, 0, reply, 0, 2);
  copyBytes(query, HEADER_BYTES, reply, HEADER_BYTES, end - HEADER_BYTES);
}

function isLetter(byte: number): boolean {
  const upper = byte & ~CASE_BIT;
  return upper >= 0x41 && upper <= 0x5a;
}
