/**
 * Decides which records of the authority and additional sections belong to an answer. Called by
 * answer-inspector.ts, which has followed the chain of aliases; marks what is to be left out.
 *
 *   authority   owners at or above a name of the chain: the zone's NS, its SOA, a DS (RFC 2181 §5.4.1,
 *               RFC 5452 §6; unbound's scrubber does alike). NSEC, NSEC3 and RRSIG stay: their owners
 *               lie anywhere in a zone, and who reads them verifies them.
 *   additional  names of the chain, and names that a kept record leads to (NS, MX, SRV, SVCB, HTTPS ...).
 *
 * Everything else is somebody's attempt to be believed about other names. The answer itself is right
 * without it, so the record is left out and the reply is used.
 */
import { LIMITS } from '../contract/limits.ts';
import { AnswerName, ROOT_HASH } from './answer-name.ts';
import { MARK_DROP } from './answer-marks.ts';
import type { Answer } from './answer.ts';
import type { Query } from './query.ts';
import { namesInData } from './reply-check.ts';
import { CLASS, readUint16, RECORD_FIXED_BYTES, recordEnd, skipName, TYPE } from './wire.ts';

/** Names that kept records lead to; a forger's message must not cost more. */
const TARGETS_MAX = 64;
/** Records of the authority section that are compared; the root has thirteen name servers. */
const COMPARED_MAX = 64;
const NAMES_MAX = LIMITS.chainAliasesMax + 1;

/** The names that an answer is about: the question's, then each alias's target. */
export interface Chain {
  /** Hashes, chain[0, length). */
  readonly hashes: Int32Array;
  /** Where each name but the first stands in the answer. */
  readonly places: Int32Array;
  length: number;
}

export class AnswerSurroundings {
  /** Records were left out of the authority section; an SOA among them. */
  hasForeignAuthority = false;
  hasForeignSoa = false;
  readonly #name = new AnswerName();
  /** Hashes of all names at or above those of the chain, the root first. */
  readonly #above = new Int32Array(1 + NAMES_MAX * LIMITS.labelsMax);
  #aboveCount = 0;
  readonly #targets = new Int32Array(TARGETS_MAX);
  #targetCount = 0;

  /** Marks strangers of both sections. @returns whether there are any */
  mark(answer: Answer, query: Query, chain: Chain, marks: Uint8Array): boolean {
    this.hasForeignAuthority = false;
    this.hasForeignSoa = false;
    const { recordCount, answerCount, authorityCount, bytes, bodyAt, bodyLength } = answer;
    if (recordCount === answerCount) return false;
    this.#targetCount = 0;
    if (authorityCount > 0) this.#noteAbove(answer, query, chain);
    const additionalFrom = answerCount + authorityCount;
    const end = bodyAt + bodyLength;
    let compared = 0;
    let isMarked = false;
    let at = bodyAt;
    for (let index = 0; index < recordCount; index++) {
      const fixed = skipName(bytes, at, end);
      const type = readUint16(bytes, fixed);
      let isOurs = marks[index] !== MARK_DROP;
      const isForeignClass = readUint16(bytes, fixed + 2) !== CLASS.internet;
      if (isOurs && index >= answerCount && (isForeignClass || !isProof(type))) {
        isOurs =
          !isForeignClass &&
          (index < additionalFrom
            ? compared++ < COMPARED_MAX && this.#isAbove(answer, query, at)
            : this.#isNamed(answer, query, at, chain));
        if (!isOurs) {
          marks[index] = MARK_DROP;
          isMarked = true;
          if (index < additionalFrom) this.#noteForeign(type);
        }
      }
      if (isOurs) this.#noteTarget(answer, query, type, fixed + RECORD_FIXED_BYTES);
      at = recordEnd(bytes, fixed, end);
    }
    return isMarked;
  }

  #noteForeign(type: number): void {
    this.hasForeignAuthority = true;
    if (type === TYPE.soa) this.hasForeignSoa = true;
  }

  #noteAbove(answer: Answer, query: Query, chain: Chain): void {
    const above = this.#above;
    above[0] = ROOT_HASH;
    let count = 1;
    for (let label = 0; label < query.labelCount; label++) {
      above[count++] = query.suffixHashes[label] as number;
    }
    const name = this.#name;
    for (let link = 1; link < chain.length; link++) {
      if (!this.#read(answer, query, chain.places[link] as number)) continue;
      for (let label = 0; label < name.labelCount; label++) {
        above[count++] = name.suffixHashes[label] as number;
      }
    }
    this.#aboveCount = count;
  }

  #isAbove(answer: Answer, query: Query, at: number): boolean {
    if (!this.#read(answer, query, at)) return false;
    const { hash } = this.#name;
    for (let index = 0; index < this.#aboveCount; index++) {
      if (this.#above[index] === hash) return true;
    }
    return false;
  }

  #isNamed(answer: Answer, query: Query, at: number, chain: Chain): boolean {
    if (!this.#read(answer, query, at)) return false;
    const { hash } = this.#name;
    for (let link = 0; link < chain.length; link++) if (chain.hashes[link] === hash) return true;
    for (let index = 0; index < this.#targetCount; index++) {
      if (this.#targets[index] === hash) return true;
    }
    return false;
  }

  /** The name that a record leads to: the last one in its data, as in NS, MX and SRV. */
  #noteTarget(answer: Answer, query: Query, type: number, dataAt: number): void {
    const at = targetAt(answer.bytes, type, dataAt);
    if (at < 0 || this.#targetCount === TARGETS_MAX) return;
    if (this.#read(answer, query, at)) this.#targets[this.#targetCount++] = this.#name.hash;
  }

  #read(answer: Answer, query: Query, at: number): boolean {
    return this.#name.read(answer, at, query.name, 0, query.nameLength);
  }
}

/** What only a validator reads, and does not believe unverified. */
function isProof(type: number): boolean {
  return type === TYPE.nsec || type === TYPE.nsec3 || type === TYPE.rrsig;
}

/** Where the target stands in the data of types that have just one; -1 for others. */
function targetAt(bytes: Uint8Array, type: number, dataAt: number): number {
  const layout = isProof(type) ? null : namesInData(type);
  if (layout?.names !== 1) return -1;
  let at = dataAt + layout.before;
  for (let left = layout.strings; left > 0; left--) at += 1 + (bytes[at] ?? 0);
  return at;
}
