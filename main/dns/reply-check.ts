/**
 * Decides whether bytes from the network are the reply to a query of ours, and whether they are
 * well-formed. Two judgements: a reply that is to the query shows that its server lives, whatever
 * else is in it.
 *
 * Called by the upstreams in net/ for every datagram and TCP message before anything else looks at
 * it, in a data-plane thread. A mismatch is somebody else's message, perhaps a forgery: the caller
 * counts it and goes on waiting. A malformed reply is never relayed as it is: reply-repair.ts makes
 * a well-formed one of what can be used.
 *
 * Strict and bounded: a compression pointer must point before the part of the name it stands in,
 * so loops cannot be (RFC 1035 §4.1.4); a name has at most 255 bytes; names inside the RDATA of
 * known types are checked and must end where RDLENGTH says; unknown types are opaque
 * (RFC 3597 §4); nothing may follow the last record. Allocates nothing.
 */
import { LIMITS } from '../contract/limits.ts';
import {
  CLASS,
  FLAG,
  HEADER_BYTES,
  optionsAreWhole,
  readUint16,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  TYPE,
} from './wire.ts';

/** The reply is to this query and parses to its end; with TC set only up to its question. */
export const REPLY_OK = 0;
/** ID, QR, opcode, QDCOUNT or question differ, letter case included. */
export const REPLY_MISMATCH = 1;
/** To this query, but not well-formed. */
export const REPLY_MALFORMED = 2;
export type ReplyVerdict = typeof REPLY_OK | typeof REPLY_MISMATCH | typeof REPLY_MALFORMED;

/**
 * Checks reply[0, length) against the query as it was sent, query[0, queryLength).
 *
 * A reply with TC set is examined up to its question only: servers may cut it anywhere
 * (RFC 2181 §9), the caller asks again over TCP, and the engine relays none of its records.
 */
export function checkReply(
  reply: Uint8Array,
  length: number,
  query: Uint8Array,
  queryLength: number,
): ReplyVerdict {
  const questionEnd = skipName(query, HEADER_BYTES, queryLength) + 4;
  if (questionEnd < HEADER_BYTES || questionEnd > queryLength) return REPLY_MISMATCH;
  if (length < questionEnd || !headerMatches(reply, query)) return REPLY_MISMATCH;
  for (let at = HEADER_BYTES; at < questionEnd; at++) {
    if (reply[at] !== query[at]) return REPLY_MISMATCH;
  }
  return isWellFormed(reply, length, questionEnd) ? REPLY_OK : REPLY_MALFORMED;
}

/** Whether a reply to a query of ours is well-formed behind its question; TC: see `checkReply`. */
export function isWellFormed(reply: Uint8Array, length: number, questionEnd: number): boolean {
  const isTruncated = ((reply[2] as number) & FLAG.truncated) !== 0;
  return isTruncated || recordsAreWhole(reply, questionEnd, length);
}

function headerMatches(reply: Uint8Array, query: Uint8Array): boolean {
  return (
    reply[0] === query[0] &&
    reply[1] === query[1] &&
    ((reply[2] as number) & (FLAG.response | FLAG.opcode)) === FLAG.response &&
    readUint16(reply, 4) === 1
  );
}

function recordsAreWhole(reply: Uint8Array, start: number, length: number): boolean {
  const additionalFrom = readUint16(reply, 6) + readUint16(reply, 8);
  const count = additionalFrom + readUint16(reply, 10);
  let optSeen = false;
  let at = start;
  for (let index = 0; index < count; index++) {
    const fixed = nameEnd(reply, at, length, true);
    const next = recordEnd(reply, fixed, length);
    if (next < 0) return false;
    if (readUint16(reply, fixed) === TYPE.opt) {
      // One OPT, in the additional section, owned by the root. RFC 6891 §6.1.1.
      if (optSeen || index < additionalFrom || reply[at] !== 0) return false;
      optSeen = true;
    }
    if (!dataIsWhole(reply, fixed, next, false)) return false;
    at = next;
  }
  return at === length;
}

/**
 * Whether names and data of one record parse; compressed names are taken where they may not be.
 *
 * @param at     where its owner begins; `fixed` is behind the owner, `next` behind the record
 * @param length end of the message, in which pointers are followed
 */
export function recordParses(
  reply: Uint8Array,
  at: number,
  fixed: number,
  next: number,
  length: number,
): boolean {
  return nameEnd(reply, at, length, true) === fixed && dataIsWhole(reply, fixed, next, true);
}

/**
 * Checks a name and everything its pointers lead to.
 *
 * @returns  the offset behind the name in place, or -1
 */
function nameEnd(bytes: Uint8Array, start: number, end: number, pointers: boolean): number {
  let behind = -1;
  let total = 1;
  let part = start;
  let at = start;
  while (at < end) {
    const size = bytes[at] as number;
    if (size === 0) return behind < 0 ? at + 1 : behind;
    if (size <= LIMITS.labelBytesMax) {
      total += size + 1;
      at += size + 1;
      if (total > LIMITS.nameBytesMax) return -1;
    } else {
      const target = pointers ? pointerTarget(bytes, at, part, end) : -1;
      if (target < 0) return -1;
      if (behind < 0) behind = at + 2;
      part = target;
      at = target;
    }
  }
  return -1;
}

/** Where a pointer leads: behind the header and before `part`; -1 when it is none or leads on. */
function pointerTarget(bytes: Uint8Array, at: number, part: number, end: number): number {
  const size = bytes[at] as number;
  if (size < 0xc0 || at + 2 > end) return -1;
  const target = ((size & 0x3f) << 8) | (bytes[at + 1] as number);
  return target >= HEADER_BYTES && target < part ? target : -1;
}

/** How the RDATA of a type is laid out. */
export interface DataLayout {
  /** Fixed bytes at the beginning. */
  readonly before: number;
  /** Character strings behind them (RFC 1035 §3.3); ANY_NUMBER for one or more, to the end. */
  readonly strings: number;
  /** Names behind them. */
  readonly names: number;
  /** Fixed bytes behind those; ANY_NUMBER for any. */
  readonly behind: number;
  /** Whether names may be compressed: in types of RFC 1035 only. RFC 3597 §4. */
  readonly pointers: boolean;
}

const ANY_NUMBER = -1;
const layouts = new Map<number, DataLayout>();

function layout(types: readonly number[], shape: Partial<DataLayout>): void {
  const whole = { before: 0, strings: 0, names: 0, behind: 0, pointers: false, ...shape };
  for (const type of types) layouts.set(type, whole);
}

layout([TYPE.a], { before: 4 });
layout([TYPE.aaaa], { before: 16 });
layout([2, 3, 4, 5, 7, 8, 9, 12], { names: 1, pointers: true }); // NS MD MF CNAME MB MG MR PTR
layout([TYPE.soa], { names: 2, behind: 20, pointers: true });
layout([TYPE.hinfo], { strings: 2 });
layout([TYPE.txt], { strings: ANY_NUMBER });
layout([14], { names: 2, pointers: true }); // MINFO
layout([15], { before: 2, names: 1, pointers: true }); // MX
layout([17], { names: 2 }); // RP
layout([18, 21, 36], { before: 2, names: 1 }); // AFSDB RT KX
layout([26], { before: 2, names: 2 }); // PX
layout([33], { before: 6, names: 1 }); // SRV
layout([35], { before: 4, strings: 3, names: 1 }); // NAPTR
layout([TYPE.dname], { names: 1 });
layout([43], { before: 5, behind: ANY_NUMBER }); // DS
layout([48], { before: 5, behind: ANY_NUMBER }); // DNSKEY
layout([TYPE.rrsig], { before: 18, names: 1, behind: ANY_NUMBER });
layout([TYPE.nsec], { names: 1, behind: ANY_NUMBER });
layout([TYPE.svcb, TYPE.https], { before: 2, names: 1, behind: ANY_NUMBER });

/** Where the RDATA of a type has names; null when it has none, or is not known. */
export function namesInData(type: number): DataLayout | null {
  const known = layouts.get(type);
  return known !== undefined && known.names > 0 ? known : null;
}

/** Whether the RDATA of the record whose type stands at `fixed` ends exactly at `end`. */
function dataIsWhole(bytes: Uint8Array, fixed: number, end: number, anyPointers: boolean): boolean {
  const type = readUint16(bytes, fixed);
  const start = fixed + RECORD_FIXED_BYTES;
  if (type === TYPE.opt) return optionsAreWhole(bytes, start, end);
  const known = layouts.get(type);
  if (known === undefined) return true;
  // Addresses of other classes look otherwise. RFC 1035 §3.4.
  if (known.names === 0 && readUint16(bytes, fixed + 2) !== CLASS.internet) return true;
  let at = stringsEnd(bytes, start + known.before, end, known.strings);
  for (let index = 0; index < known.names && at >= 0; index++) {
    at = nameEnd(bytes, at, end, known.pointers || anyPointers);
  }
  if (at < 0) return false;
  // Parameters of SVCB are laid out as the options of OPT are. RFC 9460 §2.2.
  if (type === TYPE.svcb || type === TYPE.https) return optionsAreWhole(bytes, at, end);
  return known.behind === ANY_NUMBER ? at <= end : at + known.behind === end;
}

/** The offset behind `count` character strings, or -1 when they do not end before `end`. */
function stringsEnd(bytes: Uint8Array, start: number, end: number, count: number): number {
  let at = start;
  let left = count === ANY_NUMBER ? end - start : count;
  if (count === ANY_NUMBER && left <= 0) return -1;
  for (; left > 0 && at < end; left--) at += 1 + (bytes[at] as number);
  if (at > end) return -1;
  return left === 0 || count === ANY_NUMBER ? at : -1;
}
