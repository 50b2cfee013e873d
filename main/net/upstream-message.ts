/**
 * The bytes of a question on its way upstream: fresh ID, random letter case ("0x20"), with or
 * without OPT; and what is left of it in a reply. Used by the upstream pool.
 *
 * Random case adds about a bit a letter to the 16 of the ID and those of the port that a forger has
 * to guess; honest servers copy the question as it was (draft-vixie-dnsext-dns0x20).
 */
import type { Random } from '../engine/ports.ts';
import {
  copyBytes,
  FLAG,
  HEADER_BYTES,
  RCODE,
  readUint16,
  skipName,
  writeUint16,
} from '../engine/wire.ts';

/** Where ARCOUNT stands. RFC 1035 §4.1.1. */
const ARCOUNT_AT = 10;
const QDCOUNT_AT = 4;
const CASE_BIT = 0x20;

/** Offset behind the question of a query made by the engine or by bootstrap.ts. */
export function questionEnd(query: Uint8Array, length: number): number {
  return skipName(query, HEADER_BYTES, length) + 4;
}

/**
 * Copies a query for one attempt; its ID is written by whoever sends it.
 *
 * @param random   source of the letter case; null keeps the case
 * @param keepOpt  false cuts off what follows the question, which is the OPT record
 */
export function copyQuery(
  query: Uint8Array,
  end: number,
  random: Random | null,
  keepOpt: boolean,
): Buffer {
  const length = keepOpt ? query.length : end;
  const copy = Buffer.allocUnsafe(length);
  copyBytes(query, 0, copy, 0, length);
  if (!keepOpt) writeUint16(copy, ARCOUNT_AT, 0);
  if (random !== null) mixCase(copy, end - 4, random);
  return copy;
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

/** True when a reply has the query's ID, type, class and name, letter case aside. */
export function matchesButCase(reply: Uint8Array, query: Uint8Array, end: number): boolean {
  if (reply.length < end || readUint16(reply, 0) !== readUint16(query, 0)) return false;
  if (((reply[2] as number) & (FLAG.response | FLAG.opcode)) !== FLAG.response) return false;
  if (readUint16(reply, QDCOUNT_AT) !== 1) return false;
  const nameEnd = end - 4;
  for (let at = HEADER_BYTES; at < end; at++) {
    const difference = (reply[at] as number) ^ (query[at] as number);
    if (difference === 0) continue;
    if (difference !== CASE_BIT || at >= nameEnd || !isLetter(reply[at] as number)) return false;
  }
  return true;
}

/**
 * True for the header alone, with our ID and FORMERR or NOTIMP: how servers that do not know EDNS
 * may refuse a query (RFC 6891 §7).
 */
export function isBareRefusal(reply: Uint8Array, query: Uint8Array): boolean {
  return (
    reply.length === HEADER_BYTES &&
    readUint16(reply, 0) === readUint16(query, 0) &&
    ((reply[2] as number) & FLAG.response) !== 0 &&
    readUint16(reply, QDCOUNT_AT) === 0 &&
    isFormRefusal(rcodeOf(reply))
  );
}

/** The four bits of RCODE in the header. */
export function rcodeOf(reply: Uint8Array): number {
  return (reply[3] as number) & 0x0f;
}

/** FORMERR or NOTIMP: the server may understand the same question without OPT. */
export function isFormRefusal(rcode: number): boolean {
  return rcode === RCODE.formErr || rcode === RCODE.notImp;
}

/** Whether another server may know better. */
export function isServerFailure(rcode: number): boolean {
  return rcode === RCODE.servFail || rcode === RCODE.refused || isFormRefusal(rcode);
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
