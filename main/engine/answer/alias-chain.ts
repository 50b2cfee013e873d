/**
 * The aliases (CNAME) that an answer of ours begins with, and the question that its last target is.
 * One object per engine, for steps/rewrite.ts; what waits for an upstream keeps a copy (`save`).
 *
 *   answer section:  question name  CNAME t1   t1 CNAME t2   | records of t2, from cache or upstream
 *                    `bytes`, as it stands behind the question
 *
 * The last target is written out, so that what was compressed against the question for it can
 * point there instead: `targetAt`.
 */
import { LIMITS } from '../../contract/limits.ts';
import { writeName } from '../../dns/name.ts';
import { Query, QUERY_OK } from '../query/query.ts';
import {
  CLASS,
  copyBytes,
  HEADER_BYTES,
  OPT_BYTES,
  QUESTION_BYTES_MAX,
  RECORD_FIXED_BYTES,
  TYPE,
  writeUint16,
  writeUint32,
} from '../../dns/wire.ts';

/** What is kept of a chain while its last target is asked for. */
export interface SavedChain {
  readonly bytes: Uint8Array;
  readonly count: number;
  readonly target: string;
}

const OWNER_BYTES = 2;
const ALIAS_BYTES_MAX = OWNER_BYTES + RECORD_FIXED_BYTES + LIMITS.nameBytesMax;

export class AliasChain {
  /** Records, bytes[0, length). */
  readonly bytes = new Uint8Array(ALIAS_BYTES_MAX * LIMITS.rewriteStepsMax);
  length = 0;
  count = 0;
  /** Where the last target stands, counted from the start of the message. */
  targetAt = HEADER_BYTES;
  /** The question for the last target: type, class and bits as asked. */
  readonly target = new Query();
  /** Presentation form of the last target. */
  #text = '';
  #base = 0;
  readonly #packet = new Uint8Array(HEADER_BYTES + QUESTION_BYTES_MAX + OPT_BYTES);

  /** Begins anew, at a question. */
  begin(query: Query): void {
    this.length = this.count = 0;
    this.targetAt = HEADER_BYTES;
    this.#base = HEADER_BYTES + query.questionLength;
    this.#text = '';
  }

  /**
   * Adds an alias from where the chain stands to another name.
   *
   * @returns  false when the target is no name, was there before, or the chain is too long
   */
  add(query: Query, target: string, ttlSeconds: number): boolean {
    if (this.count >= LIMITS.rewriteStepsMax || !this.#ask(query, target)) return false;
    if (this.#hasBeen(query)) return false;
    const { bytes } = this;
    const fixed = this.length + OWNER_BYTES;
    const { nameLength, name } = this.target;
    writeUint16(bytes, this.length, 0xc000 | this.targetAt);
    writeUint16(bytes, fixed, TYPE.cname);
    writeUint16(bytes, fixed + 2, CLASS.internet);
    writeUint32(bytes, fixed + 4, ttlSeconds);
    writeUint16(bytes, fixed + 8, nameLength + 1);
    const dataAt = fixed + RECORD_FIXED_BYTES;
    copyBytes(name, 0, bytes, dataAt, nameLength);
    bytes[dataAt + nameLength] = 0;
    this.targetAt = this.#base + dataAt;
    this.length = dataAt + nameLength + 1;
    this.count++;
    this.#text = target;
    return true;
  }

  save(): SavedChain {
    return { bytes: this.bytes.slice(0, this.length), count: this.count, target: this.#text };
  }

  /** Puts a chain back that was saved for the same question. */
  restore(query: Query, { bytes, count, target }: SavedChain): void {
    this.begin(query);
    this.bytes.set(bytes);
    this.length = bytes.length;
    this.count = count;
    this.#ask(query, target);
    this.targetAt = this.#base + bytes.length - this.target.nameLength - 1;
  }

  /** Reads the question for a name as if it came from the client. */
  #ask(query: Query, name: string): boolean {
    const packet = this.#packet;
    packet.fill(0);
    const length = writeName(name, packet, HEADER_BYTES);
    if (length <= 0) return false;
    packet[2] = query.flagsHigh;
    packet[3] = query.flagsLow;
    packet[5] = 1;
    const behind = HEADER_BYTES + length + 1;
    writeUint16(packet, behind, query.type);
    writeUint16(packet, behind + 2, query.qclass);
    let end = behind + 4;
    if (query.hasEdns) {
      packet[11] = 1;
      writeUint16(packet, end + 1, TYPE.opt);
      writeUint16(packet, end + 3, LIMITS.udpPayloadBytes);
      packet[end + 7] = query.dnssecOk ? 0x80 : 0;
      end += OPT_BYTES;
    }
    return this.target.read(packet, 0, end) === QUERY_OK;
  }

  /** Whether the last target is the question, or was a target before. */
  #hasBeen(query: Query): boolean {
    const { target } = this;
    if (isSame(target, query.name, 0, query.nameLength)) return true;
    let at = 0;
    for (let index = 0; index < this.count; index++) {
      const dataAt = at + OWNER_BYTES + RECORD_FIXED_BYTES;
      const end =
        dataAt + ((this.bytes[dataAt - 2] as number) << 8) + (this.bytes[dataAt - 1] as number);
      if (isSame(target, this.bytes, dataAt, end - 1)) return true;
      at = end;
    }
    return false;
  }
}

function isSame(query: Query, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== query.nameLength) return false;
  for (let index = 0; index < query.nameLength; index++) {
    if (query.name[index] !== bytes[start + index]) return false;
  }
  return true;
}
