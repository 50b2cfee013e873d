/**
 * Reads a query in place: header, question, EDNS. The one parser of untrusted client packets.
 *
 * One object per engine is reused for every packet; its fields are those of the last `read`. It is
 * also the NameView that the domain tables search. Reading allocates nothing.
 *
 *   +--------+-----------------------+-------------------------------------+
 *   | header | question              | other records; only OPT matters     |
 *   +--------+-----------------------+-------------------------------------+
 *   start    start + 12              questionEnd                  start + length
 */
import { LIMITS } from '../../contract/limits.ts';
import type { NameView } from '../../dns/name.ts';
import { HASH_SEED, hashByte, hashMix } from '../../dns/name.ts';
import {
  copyBytes,
  FLAG,
  HEADER_BYTES,
  OPT_BYTES,
  OPTION_KEEPALIVE,
  optionsAreWhole,
  readUint16,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  TYPE,
  writeUint16,
} from '../../dns/wire.ts';

/** A question that can be looked at. */
export const QUERY_OK = 0;
/** To be met with silence: too short for a header, or a response. */
export const QUERY_IGNORED = 1;
/** FORMERR. */
export const QUERY_MALFORMED = 2;
/** NOTIMP: an opcode other than QUERY. */
export const QUERY_OPCODE = 3;
/** BADVERS: an EDNS version above 0. RFC 6891 §6.1.3. */
export const QUERY_EDNS_VERSION = 4;
export type QueryStatus =
  | typeof QUERY_OK
  | typeof QUERY_IGNORED
  | typeof QUERY_MALFORMED
  | typeof QUERY_OPCODE
  | typeof QUERY_EDNS_VERSION;

/** Code and length. RFC 6891 §6.1.2. */
const OPTION_HEADER_BYTES = 4;
const NO_BYTES = new Uint8Array(0);

export class Query implements NameView {
  /** The packet of the last `read`; not owned. */
  packet: Uint8Array = NO_BYTES;
  start = 0;
  /** Third and fourth header byte: FLAG. */
  flagsHigh = 0;
  flagsLow = 0;
  /** Offset in `packet` behind the question; 0 when it did not parse. */
  questionEnd = 0;
  type = 0;
  qclass = 0;

  /** Lower-case wire labels without root, name[0, nameLength). */
  readonly name = new Uint8Array(LIMITS.nameBytesMax);
  nameLength = 0;
  labelCount = 0;
  readonly labelStarts = new Uint8Array(LIMITS.labelsMax);
  readonly suffixHashes = new Int32Array(LIMITS.labelsMax);

  /** Whether the query has an OPT record; the answer has one exactly then. */
  hasEdns = false;
  /** UDP payload size the client can take; meaningless without EDNS. */
  ednsSize = 0;
  ednsVersion = 0;
  dnssecOk = false;
  /** The client would keep its TCP connection open. RFC 7828 §3.2.1. */
  hasKeepalive = false;

  /** Parses packet[start, start + length). What was parsed before a flaw stays readable. */
  read(packet: Uint8Array, start: number, length: number): QueryStatus {
    this.#reset(packet, start);
    if (length < HEADER_BYTES) return QUERY_IGNORED;
    this.flagsHigh = packet[start + 2] as number;
    this.flagsLow = packet[start + 3] as number;
    if ((this.flagsHigh & FLAG.response) !== 0) return QUERY_IGNORED;
    const end = start + length;
    const questions = readUint16(packet, start + 4);
    const hasQuestion = questions === 1 && this.#readQuestion(end);
    // Of what is turned away as well: the answer has an OPT record if the query has one
    // (RFC 6891 §6.1.1).
    const isWhole = (hasQuestion || questions === 0) && this.#readRecords(end);
    if ((this.flagsHigh & FLAG.opcode) !== 0) return QUERY_OPCODE;
    if (!hasQuestion || !isWhole) return QUERY_MALFORMED;
    return this.ednsVersion === 0 ? QUERY_OK : QUERY_EDNS_VERSION;
  }

  /** DO and CD, which together with name, type and class make a distinct question. */
  get keyBits(): number {
    return (this.dnssecOk ? 1 : 0) | ((this.flagsLow & FLAG.checkingDisabled) !== 0 ? 2 : 0);
  }

  /** Bytes of the question section; 0 when it did not parse. */
  get questionLength(): number {
    return this.questionEnd === 0 ? 0 : this.questionEnd - this.start - HEADER_BYTES;
  }

  /**
   * A copy that `read` takes later: header, question, and OPT without options, but for the one
   * that we understand. At most 12 + 259 + 15 bytes, whatever the client sent.
   */
  compact(): Uint8Array {
    const withoutOpt = this.questionEnd - this.start;
    const optionBytes = this.hasKeepalive ? OPTION_HEADER_BYTES : 0;
    const copy = new Uint8Array(withoutOpt + (this.hasEdns ? OPT_BYTES + optionBytes : 0));
    copyBytes(this.packet, this.start, copy, 0, withoutOpt);
    copy.fill(0, 6, HEADER_BYTES);
    if (this.hasEdns) {
      copy[11] = 1;
      writeUint16(copy, withoutOpt + 1, TYPE.opt);
      writeUint16(copy, withoutOpt + 3, this.ednsSize);
      copy[withoutOpt + 7] = this.dnssecOk ? 0x80 : 0;
      copy[withoutOpt + 10] = optionBytes;
      if (optionBytes > 0) copy[withoutOpt + OPT_BYTES + 1] = OPTION_KEEPALIVE;
    }
    return copy;
  }

  #reset(packet: Uint8Array, start: number): void {
    this.packet = packet;
    this.start = start;
    this.flagsHigh = 0;
    this.flagsLow = 0;
    this.questionEnd = 0;
    this.type = 0;
    this.qclass = 0;
    this.nameLength = 0;
    this.labelCount = 0;
    this.hasEdns = false;
    this.ednsSize = 0;
    this.ednsVersion = 0;
    this.dnssecOk = false;
    this.hasKeepalive = false;
  }

  /** Takes the name, folded, with label starts; then hashes it. False when it does not parse. */
  #readQuestion(end: number): boolean {
    const { packet, name, labelStarts } = this;
    const nameStart = this.start + HEADER_BYTES;
    const nameEnd = skipName(packet, nameStart, end);
    if (nameEnd < 0 || nameEnd + 4 > end) return false;
    if (nameEnd - nameStart > LIMITS.nameBytesMax) return false;
    const length = nameEnd - nameStart - 1;
    let labels = 0;
    let lengthAt = 0;
    for (let at = 0; at < length; at++) {
      const byte = packet[nameStart + at] as number;
      if (at === lengthAt) {
        // A pointer: there is nothing yet that it could point to.
        if (byte > LIMITS.labelBytesMax) return false;
        labelStarts[labels++] = at;
        lengthAt += byte + 1;
      }
      // Length bytes are below "A".
      name[at] = byte >= 0x41 && byte <= 0x5a ? byte + 0x20 : byte;
    }
    this.type = readUint16(packet, nameEnd);
    this.qclass = readUint16(packet, nameEnd + 2);
    this.questionEnd = nameEnd + 4;
    this.nameLength = length;
    this.labelCount = labels;
    this.#hashSuffixes();
    return true;
  }

  /** As hashSuffixes of name.ts, written out here: calling it made short answers measurably slower. */
  #hashSuffixes(): void {
    const { name, labelStarts, suffixHashes } = this;
    let running = HASH_SEED;
    let at = this.nameLength - 1;
    for (let label = this.labelCount - 1; label >= 0; label--) {
      const labelStart = labelStarts[label] as number;
      for (; at >= labelStart; at--) running = hashByte(running, name[at] as number);
      suffixHashes[label] = hashMix(running);
    }
  }

  /**
   * Steps over the records behind the question. Answer and authority sections of a query are
   * empty, but for the SOA of an IXFR (RFC 1995 §3); those of a NOTIFY or an UPDATE need not be.
   * Nothing may follow the last record.
   */
  #readRecords(end: number): boolean {
    const { packet, start } = this;
    const answers = readUint16(packet, start + 6);
    const authorities = readUint16(packet, start + 8);
    if ((this.flagsHigh & FLAG.opcode) === 0) {
      if (answers !== 0 || (authorities !== 0 && this.type !== TYPE.ixfr)) return false;
    }
    const additionalFrom = answers + authorities;
    const count = additionalFrom + readUint16(packet, start + 10);
    let at = this.questionEnd === 0 ? start + HEADER_BYTES : this.questionEnd;
    for (let index = 0; index < count; index++) {
      const fixed = skipName(packet, at, end);
      const next = recordEnd(packet, fixed, end);
      if (next < 0) return false;
      const isOpt = readUint16(packet, fixed) === TYPE.opt;
      if (isOpt && (index < additionalFrom || !this.#readOpt(at, fixed, next))) return false;
      at = next;
    }
    return at === end;
  }

  /** Takes size, version and DO; the options only have to be whole. RFC 6891 §6.1.2. */
  #readOpt(owner: number, fixed: number, end: number): boolean {
    const { packet } = this;
    if (this.hasEdns || packet[owner] !== 0) return false;
    this.hasEdns = true;
    this.ednsSize = readUint16(packet, fixed + 2);
    this.ednsVersion = packet[fixed + 5] as number;
    this.dnssecOk = ((packet[fixed + 6] as number) & 0x80) !== 0;
    const optionsAt = fixed + RECORD_FIXED_BYTES;
    if (optionsAt === end) return true;
    this.hasKeepalive = hasEmptyOption(packet, optionsAt, end, OPTION_KEEPALIVE);
    return optionsAreWhole(packet, optionsAt, end);
  }
}

/** Whether options bytes[start, end) have one of this code, without a value. */
function hasEmptyOption(bytes: Uint8Array, start: number, end: number, code: number): boolean {
  let at = start;
  while (at + OPTION_HEADER_BYTES <= end) {
    const size = readUint16(bytes, at + 2);
    if (size === 0 && readUint16(bytes, at) === code) return true;
    at += OPTION_HEADER_BYTES + size;
  }
  return false;
}
