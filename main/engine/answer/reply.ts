/**
 * Writes answers, straight into the listener's buffer. Called by the steps; allocates nothing.
 *
 * Header bits of every answer: QR set, opcode, RD and CD copied, RA set, AA only for what we know
 * ourselves, AD only for clients that understand it (RFC 6840 §5.7 and §5.8), Z clear. The question
 * is the client's own, byte for byte. An OPT record is there exactly when the query had one.
 */
import type { AliasChain } from './alias-chain.ts';
import type { Answer } from './answer.ts';
import type { RewriteRecord } from '../filter/rule-set.ts';
import type { QueryContext } from '../query/query-context.ts';
import {
  CLASS,
  copyBytes,
  EDE,
  FLAG,
  HEADER_BYTES,
  OPT_BYTES,
  OPTION_EDE,
  OPTION_KEEPALIVE,
  readUint32,
  TYPE,
  writeUint16,
  writeUint32,
} from '../../dns/wire.ts';
import { LIMITS } from '../../contract/limits.ts';

/** Option code, length and info code; EXTRA-TEXT stays empty. RFC 8914 §2. */
const EDE_OPTION_BYTES = 6;
/** Option code, length and the timeout. RFC 7828 §3.1. */
const KEEPALIVE_OPTION_BYTES = 6;
/** In units of 100 ms. */
const KEEPALIVE_TIMEOUT = LIMITS.tcpIdleMs / 100;
/** The compression pointer to the question name. */
const QUESTION_POINTER = 0xc000 | HEADER_BYTES;

/** RDATA of our SOA records; the last four bytes, MINIMUM, are the TTL. RFC 1035 §3.3.13. */
const SOA_DATA = Uint8Array.from([
  ...[9, ...Buffer.from('localhost'), 0],
  ...[6, ...Buffer.from('nobody'), 7, ...Buffer.from('invalid'), 0],
  ...[0, 0, 0, 1], // SERIAL
  ...[0, 0, 0x0e, 0x10], // REFRESH 3,600
  ...[0, 0, 0x04, 0xb0], // RETRY 1,200
  ...[0, 0x09, 0x3a, 0x80], // EXPIRE 604,800
  ...[0, 0, 0, 0],
]);

/** An answer without records. Returns its length. */
export function writeEmpty(context: QueryContext, rcode: number, ede: number): number {
  return finish(context, startReply(context, rcode, false), rcode, ede);
}

/**
 * NXDOMAIN, or NODATA with NOERROR, with an SOA so that it can be cached. RFC 2308 §2.
 *
 * @param zoneStart  offset in the question name of the label where the SOA's owner begins
 */
export function writeNegative(
  context: QueryContext,
  rcode: number,
  zoneStart: number,
  ttlSeconds: number,
  authoritative: boolean,
  ede: number,
): number {
  const out = context.out;
  const fixed = startReply(context, rcode, authoritative);
  writeRecord(out, fixed, TYPE.soa, ttlSeconds, SOA_DATA);
  writeUint16(out, fixed, QUESTION_POINTER + zoneStart);
  const at = fixed + 12 + SOA_DATA.length;
  writeUint32(out, at - 4, ttlSeconds);
  out[context.outStart + 9] = 1;
  return finish(context, at, rcode, ede);
}

/** NOERROR with the SOA of a zone of ours, whose name the question is. */
export function writeSoa(context: QueryContext, ttlSeconds: number): number {
  const at = startReply(context, 0, true);
  const end = at + 12 + SOA_DATA.length;
  writeRecord(context.out, at, TYPE.soa, ttlSeconds, SOA_DATA);
  writeUint32(context.out, end - 4, ttlSeconds);
  context.out[context.outStart + 7] = 1;
  return finish(context, end, 0, EDE.none);
}

/** NOERROR with one record of class IN that answers the question. */
export function writeOne(
  context: QueryContext,
  type: number,
  ttlSeconds: number,
  data: Uint8Array,
  authoritative: boolean,
  ede: number,
): number {
  const at = startReply(context, 0, authoritative);
  writeRecord(context.out, at, type, ttlSeconds, data);
  context.out[context.outStart + 7] = 1;
  return finish(context, at + 12 + data.length, 0, ede);
}

/**
 * An answer from the cache or from an upstream, with TTLs reduced by its age.
 *
 * @param ageSeconds  taken off every TTL
 * @param fixedTtl    instead, the TTL of every record; -1 for none
 */
export function writeAnswer(
  context: QueryContext,
  answer: Answer,
  ageSeconds: number,
  fixedTtl: number,
  ede: number,
): number {
  return writeAfterAliases(context, null, answer, ageSeconds, fixedTtl, ede);
}

/**
 * The same behind aliases of ours, to whose last target the answer belongs.
 *
 * @param chain  null for none
 */
export function writeAfterAliases(
  context: QueryContext,
  chain: AliasChain | null,
  answer: Answer,
  ageSeconds: number,
  fixedTtl: number,
  ede: number,
): number {
  const { out, outStart, query } = context;
  const chainAt = startReply(context, answer.rcode, false);
  const bodyAt = chainAt + (chain === null ? 0 : chain.length);
  const optBytes = query.hasEdns ? OPT_BYTES + optionBytes(context, ede) : 0;
  const total = bodyAt - outStart + answer.bodyLength + optBytes;
  if (answer.isTruncated || total > context.limitBytes)
    return truncate(context, chainAt, answer.rcode);
  if (chain !== null) copyBytes(chain.bytes, 0, out, chainAt, chain.length);
  writeUint16(out, outStart + 6, answer.answerCount + (chain === null ? 0 : chain.count));
  writeUint16(out, outStart + 8, answer.authorityCount);
  writeUint16(out, outStart + 10, answer.additionalCount);
  const understandsAd = query.dnssecOk || (query.flagsLow & FLAG.authenticated) !== 0;
  if (answer.isAuthenticated && understandsAd) {
    out[outStart + 3] = (out[outStart + 3] as number) | FLAG.authenticated;
  }
  copyBytes(answer.bytes, answer.bodyAt, out, bodyAt, answer.bodyLength);
  if (ageSeconds !== 0 || fixedTtl >= 0) ageTtls(out, bodyAt, answer, ageSeconds, fixedTtl);
  return finish(context, bodyAt + answer.bodyLength, answer.rcode, ede);
}

/**
 * NOERROR with aliases of ours and those of the records that have the type asked for, owned by the
 * last target.
 *
 * @param chain  null for none: the question name owns the records
 */
export function writeRecords(
  context: QueryContext,
  chain: AliasChain | null,
  records: readonly RewriteRecord[],
  authoritative: boolean,
  ede: number,
): number {
  const { out, outStart, query } = context;
  const chainAt = startReply(context, 0, authoritative);
  let at = chainAt;
  let count = 0;
  if (chain !== null) {
    copyBytes(chain.bytes, 0, out, at, chain.length);
    at += chain.length;
    count = chain.count;
  }
  const optBytes = query.hasEdns ? OPT_BYTES + optionBytes(context, ede) : 0;
  for (const { type, ttl, rdata } of records) {
    if (type !== query.type) continue;
    const next = at + 12 + rdata.length;
    if (next - outStart + optBytes > context.limitBytes) return truncate(context, chainAt, 0);
    writeRecord(out, at, type, ttl, rdata);
    if (chain !== null) writeUint16(out, at, 0xc000 | chain.targetAt);
    at = next;
    count++;
  }
  writeUint16(out, outStart + 6, count);
  return finish(context, at, 0, ede);
}

/** Nothing but the hint to ask over TCP. */
export function writeTruncated(context: QueryContext): number {
  return truncate(context, startReply(context, 0, false), 0);
}

/** Header, question and OPT with TC set: the client asks again over TCP. RFC 2181 §9. */
function truncate(context: QueryContext, bodyAt: number, rcode: number): number {
  context.isTruncated = true;
  context.out[context.outStart + 2] =
    (context.out[context.outStart + 2] as number) | FLAG.truncated;
  return finish(context, bodyAt, rcode, EDE.none);
}

function ageTtls(
  out: Uint8Array,
  bodyAt: number,
  answer: Answer,
  ageSeconds: number,
  fixedTtl: number,
): void {
  let offsetAt = answer.bodyAt + answer.bodyLength;
  for (let index = 0; index < answer.recordCount; index++, offsetAt += 2) {
    const low = answer.bytes[offsetAt] as number;
    const ttlAt = bodyAt + (low | ((answer.bytes[offsetAt + 1] as number) << 8));
    if (fixedTtl >= 0) {
      writeUint32(out, ttlAt, fixedTtl);
      continue;
    }
    const ttl = readUint32(out, ttlAt);
    writeUint32(out, ttlAt, ttl > ageSeconds ? ttl - ageSeconds : 0);
  }
}

/** Writes header and question. Returns the offset behind them. */
function startReply(context: QueryContext, rcode: number, authoritative: boolean): number {
  const { out, outStart: at, query } = context;
  const { packet, start } = query;
  const copiedHigh = query.flagsHigh & (FLAG.opcode | FLAG.recursionDesired);
  context.rcode = rcode;
  out[at] = packet[start] as number;
  out[at + 1] = packet[start + 1] as number;
  out[at + 2] = FLAG.response | copiedHigh | (authoritative ? FLAG.authoritative : 0);
  out[at + 3] = FLAG.recursionAvailable | (query.flagsLow & FLAG.checkingDisabled) | (rcode & 0x0f);
  for (let index = 4; index < HEADER_BYTES; index++) out[at + index] = 0;
  const questionLength = query.questionLength;
  if (questionLength > 0) out[at + 5] = 1;
  copyBytes(packet, start + HEADER_BYTES, out, at + HEADER_BYTES, questionLength);
  return at + HEADER_BYTES + questionLength;
}

/** Writes a record of class IN owned by the question name. */
function writeRecord(
  out: Uint8Array,
  at: number,
  type: number,
  ttlSeconds: number,
  data: Uint8Array,
): void {
  writeUint16(out, at, QUESTION_POINTER);
  writeUint16(out, at + 2, type);
  writeUint16(out, at + 4, CLASS.internet);
  writeUint32(out, at + 6, ttlSeconds);
  writeUint16(out, at + 10, data.length);
  copyBytes(data, 0, out, at + 12, data.length);
}

/**
 * Appends OPT when the query had one, with DO copied (RFC 3225 §3) and the upper bits of the
 * response code, and counts it. Returns the length of the whole answer.
 */
function finish(context: QueryContext, end: number, rcode: number, ede: number): number {
  const { out, outStart, query } = context;
  if (!query.hasEdns) return end - outStart;
  let optionAt = end + OPT_BYTES;
  out[end] = 0;
  writeUint16(out, end + 1, TYPE.opt);
  writeUint16(out, end + 3, LIMITS.udpPayloadBytes);
  out[end + 5] = rcode >>> 4;
  out[end + 6] = 0;
  writeUint16(out, end + 7, query.dnssecOk ? 0x8000 : 0);
  writeUint16(out, end + 9, optionBytes(context, ede));
  if (query.hasKeepalive && context.transport === 'tcp') {
    optionAt = writeShort(out, optionAt, OPTION_KEEPALIVE, KEEPALIVE_TIMEOUT);
  }
  if (ede !== EDE.none) optionAt = writeShort(out, optionAt, OPTION_EDE, ede);
  const additionalAt = outStart + 10;
  const additional = ((out[additionalAt] as number) << 8) | (out[additionalAt + 1] as number);
  writeUint16(out, additionalAt, additional + 1);
  return optionAt - outStart;
}

/** Bytes of the options that `finish` writes. */
function optionBytes(context: QueryContext, ede: number): number {
  const hasKeepalive = context.query.hasKeepalive && context.transport === 'tcp';
  return (ede === EDE.none ? 0 : EDE_OPTION_BYTES) + (hasKeepalive ? KEEPALIVE_OPTION_BYTES : 0);
}

/** Writes an option with a value of two bytes. Returns the offset behind it. */
function writeShort(out: Uint8Array, at: number, code: number, value: number): number {
  writeUint16(out, at, code);
  writeUint16(out, at + 2, 2);
  writeUint16(out, at + 4, value);
  return at + 6;
}
