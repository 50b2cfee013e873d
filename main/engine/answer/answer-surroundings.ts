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
import type { AnswerChain } from './answer-chain.ts';
import { AnswerName, isSameName, isSuffixOf } from './answer-name.ts';
import { MARK_DROP } from './answer-marks.ts';
import type { Answer } from './answer.ts';
import type { Query } from '../query/query.ts';
import { namesInData } from '../../dns/reply-check.ts';
import {
  CLASS,
  readUint16,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  TYPE,
} from '../../dns/wire.ts';

/** Names that kept records lead to; a forger's message must not cost more. */
const TARGETS_MAX = 64;
/** Records of both sections that are compared; the root has thirteen name servers, two addresses each. */
const COMPARED_MAX = 128;

export class AnswerSurroundings {
  /** Records were left out of the authority section; an SOA among them. */
  hasForeignAuthority = false;
  hasForeignSoa = false;
  readonly #name = new AnswerName();
  readonly #other = new AnswerName();
  /** Where the names stand that kept records lead to. */
  readonly #targets = new Int32Array(TARGETS_MAX);
  #targetCount = 0;

  /** Marks strangers of both sections. @returns whether there are any */
  mark(answer: Answer, query: Query, chain: AnswerChain, marks: Uint8Array): boolean {
    this.hasForeignAuthority = false;
    this.hasForeignSoa = false;
    const { recordCount, answerCount, authorityCount, bytes, bodyAt, bodyLength } = answer;
    if (recordCount === answerCount) return false;
    this.#targetCount = 0;
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
          compared++ < COMPARED_MAX &&
          this.#read(answer, query, at, this.#name) &&
          (index < additionalFrom ? this.#isAbove(chain) : this.#isNamed(answer, query, chain));
        if (!isOurs) {
          marks[index] = MARK_DROP;
          isMarked = true;
          if (index < additionalFrom) this.#noteForeign(type);
        }
      }
      if (isOurs) this.#noteTarget(bytes, type, fixed + RECORD_FIXED_BYTES);
      at = recordEnd(bytes, fixed, end);
    }
    return isMarked;
  }

  #noteForeign(type: number): void {
    this.hasForeignAuthority = true;
    if (type === TYPE.soa) this.hasForeignSoa = true;
  }

  /** Whether the name just read lies at or above one of the chain. */
  #isAbove(chain: AnswerChain): boolean {
    const { labelCount } = this.#name;
    for (let link = 0; link < chain.length; link++) {
      const view = chain.nameOf(link);
      if (view !== null && isSuffixOf(this.#name, view, view.labelCount - labelCount)) return true;
    }
    return false;
  }

  /** Whether the name just read is one of the chain, or one that a kept record leads to. */
  #isNamed(answer: Answer, query: Query, chain: AnswerChain): boolean {
    if (chain.includes(this.#name)) return true;
    for (let index = 0; index < this.#targetCount; index++) {
      const isRead = this.#read(answer, query, this.#targets[index] as number, this.#other);
      if (isRead && isSameName(this.#name, this.#other)) return true;
    }
    return false;
  }

  /** Notes the name that a record leads to: the last one in its data, as in NS, MX and SRV. */
  #noteTarget(bytes: Uint8Array, type: number, dataAt: number): void {
    const at = targetAt(bytes, type, dataAt);
    if (at >= 0 && this.#targetCount < TARGETS_MAX) this.#targets[this.#targetCount++] = at;
  }

  #read(answer: Answer, query: Query, at: number, into: AnswerName): boolean {
    return into.read(answer, at, query.name, 0, query.nameLength);
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
