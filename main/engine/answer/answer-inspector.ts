/**
 * Looks at an upstream's answer once, before it is kept: does it belong to the question, and does
 * it lead where nobody from outside should lead?
 *
 *   - The answer section is a chain of aliases from the question name. A loop, or more than
 *     CHAIN_MAX aliases (answer-chain.ts), makes the whole answer worthless; records of names that are not in the
 *     chain, or of another class, are left out (RFC 2181 §5.4.1: they may be a forger's).
 *   - Of the other sections, what has nothing to do with the chain is left out
 *     (answer-surroundings.ts).
 *   - Private addresses in the answer for a public name are left out, in any section, and so are
 *     the address hints of SVCB and HTTPS records (RFC 9460 §7.3). Names that only a home network
 *     can have (home-name.ts) may have them.
 *
 * Only class IN has such rules. Called by steps/complete.ts; what is to change is marked here and
 * changed by answer-rewriter.ts. Allocates once, at the first answer.
 */
import { MARK_DROP, MARK_DROP_HINTS, MARK_KEEP } from './answer-marks.ts';
import { AnswerChain } from './answer-chain.ts';
import { AnswerName, isSuffixOf } from './answer-name.ts';
import { AnswerSurroundings } from './answer-surroundings.ts';
import { RECORDS_MAX, type Answer } from './answer.ts';
import { isHomeName } from '../../dns/home-name.ts';
import { isPrivateV4, isPrivateV6 } from '../../dns/private-address.ts';
import type { Query } from '../query/query.ts';
import type { SuffixSet } from '../../dns/suffix-set.ts';
import {
  CLASS,
  readUint16,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  SVCB_KEY,
  TYPE,
} from '../../dns/wire.ts';

/** Nothing to be changed. */
export const LOOK_CLEAN = 0;
/** Some records are to be changed: see `marks`. */
export const LOOK_MARKED = 1;
/** A loop or an over-long chain: no answer at all. */
export const LOOK_WRONG = 2;
export type Look = typeof LOOK_CLEAN | typeof LOOK_MARKED | typeof LOOK_WRONG;

/** Which private addresses are left out, and for which names they are not. */
export interface RebindingGuard {
  readonly enabled: boolean;
  /** 100.64.0.0/10 as well. */
  readonly sharedSpace: boolean;
  readonly allow: SuffixSet;
  /** Names whose own upstreams may answer with private addresses: split DNS. */
  readonly suffixes: SuffixSet;
  /** As Policy.rebinding has them. */
  readonly publicTlds: string;
}

export class AnswerInspector {
  /** One MARK_ for each record of the last answer. */
  marks = new Uint8Array(0);
  /** Private addresses were found. */
  hasPrivate = false;
  /** All that was asked for had private addresses. */
  isEmptied = false;
  /** All that was asked for belonged to other names, or the SOA that says how long it is not there. */
  isFaded = false;
  /** Only additional records are to be changed, of which AD says nothing (RFC 4035 §3.2.3). */
  keepsAuthenticity = false;

  readonly #name = new AnswerName();
  readonly #chain = new AnswerChain();
  readonly #surroundings = new AnswerSurroundings();
  #hasDname = false;
  #isMarked = false;
  #wantedKept = 0;
  #strangersWanted = 0;
  #wantedPrivate = 0;

  /** Takes a whole answer, as ReplyReader made it, to `query`. */
  inspect(answer: Answer, query: Query, guard: RebindingGuard): Look {
    const isOurs = guard.allow.covers(query) || guard.suffixes.covers(query);
    const look = this.#inspect(answer, query, guard.enabled && !isOurs ? guard : null);
    // Hardly any answer has private addresses: only of one that has, the name is looked at.
    if (!this.hasPrivate || !isHomeName(query, guard.publicTlds)) return look;
    return this.#inspect(answer, query, null);
  }

  /** @param guard  null when the answer may have any address */
  #inspect(answer: Answer, query: Query, guard: RebindingGuard | null): Look {
    this.hasPrivate = false;
    this.isEmptied = false;
    this.isFaded = false;
    if (query.qclass !== CLASS.internet || answer.recordCount === 0) return LOOK_CLEAN;
    this.#begin();
    this.#chain.begin(answer, query);
    if (!this.#readRecords(answer, query, guard)) return LOOK_WRONG;
    if (!this.#chain.follow()) return LOOK_WRONG;
    this.#markStrangers(answer, query);
    this.keepsAuthenticity = !this.#isMarked;
    if (this.#surroundings.mark(answer, query, this.#chain, this.marks)) this.#isMarked = true;
    return this.#isMarked ? this.#conclude() : LOOK_CLEAN;
  }

  /** Says what remains. */
  #conclude(): Look {
    const isLeft = this.#wantedKept > this.#strangersWanted;
    const { hasForeignAuthority, hasForeignSoa } = this.#surroundings;
    this.isEmptied = this.#wantedPrivate > 0 && !isLeft;
    const isFaded = this.#strangersWanted > 0 || hasForeignSoa;
    this.isFaded = isFaded && !isLeft && !this.isEmptied;
    if (hasForeignAuthority) this.keepsAuthenticity = false;
    return LOOK_MARKED;
  }

  #begin(): void {
    if (this.marks.length === 0) this.marks = new Uint8Array(RECORDS_MAX);
    this.#hasDname = false;
    this.#isMarked = false;
    this.#wantedKept = 0;
    this.#strangersWanted = 0;
    this.#wantedPrivate = 0;
  }

  /** Notes owners and aliases, and marks private addresses. False when there are too many. */
  #readRecords(answer: Answer, query: Query, guard: RebindingGuard | null): boolean {
    const { bytes, bodyAt, bodyLength, recordCount, answerCount } = answer;
    const end = bodyAt + bodyLength;
    let at = bodyAt;
    for (let index = 0; index < recordCount; index++) {
      const fixed = skipName(bytes, at, end);
      const next = recordEnd(bytes, fixed, end);
      if (next < 0) return false;
      const type = readUint16(bytes, fixed);
      this.marks[index] = MARK_KEEP;
      const isAnswer = index < answerCount;
      if (isAnswer && !this.#noteAnswer(bytes, at, fixed)) return false;
      if (guard !== null) this.#guard(answer, index, fixed, next, type, guard);
      if (isAnswer && type === query.type) this.#countWanted(index);
      at = next;
    }
    return true;
  }

  #countWanted(index: number): void {
    if (this.marks[index] === MARK_DROP) this.#wantedPrivate++;
    else this.#wantedKept++;
  }

  /** Notes what the chain needs of a record of the answer section. False for too many aliases. */
  #noteAnswer(bytes: Uint8Array, at: number, fixed: number): boolean {
    const type = readUint16(bytes, fixed);
    if (type === TYPE.dname) this.#hasDname = true;
    if (type !== TYPE.cname || !isInternet(bytes, fixed)) return true;
    return this.#chain.addAlias(at, fixed + RECORD_FIXED_BYTES);
  }

  /** Marks answer records of names that the chain does not lead to. */
  #markStrangers(answer: Answer, query: Query): void {
    const { bytes, bodyAt, bodyLength, answerCount } = answer;
    const end = bodyAt + bodyLength;
    let at = bodyAt;
    for (let index = 0; index < answerCount; index++) {
      const fixed = skipName(bytes, at, end);
      const isOurs = isInternet(bytes, fixed);
      if (!isOurs || !this.#chain.has(at)) {
        const isDname = isOurs && this.#hasDname && isDnameOrItsSignature(bytes, fixed);
        if (!isDname || !this.#isAbove(answer, query, at)) {
          const isKept = this.marks[index] !== MARK_DROP;
          if (isKept && readUint16(bytes, fixed) === query.type) this.#strangersWanted++;
          this.#mark(index, MARK_DROP);
        }
      }
      at = recordEnd(bytes, fixed, end);
    }
  }

  /** Whether the owner of a DNAME lies above a name of the chain that has an alias. RFC 6672 §2.2. */
  #isAbove(answer: Answer, query: Query, at: number): boolean {
    if (!this.#name.read(answer, at, query.name, 0, query.nameLength)) return false;
    for (let link = 0; link < this.#chain.length; link++) {
      const view = this.#chain.nameOf(link);
      if (view === null) continue;
      // The owner of a DNAME stays as it is; only what is below is led elsewhere.
      for (let label = 1; label < view.labelCount; label++) {
        if (isSuffixOf(this.#name, view, label)) return true;
      }
    }
    return false;
  }

  /** Marks a record with a private address in it. */
  #guard(
    answer: Answer,
    index: number,
    fixed: number,
    next: number,
    type: number,
    guard: RebindingGuard,
  ): void {
    const { bytes } = answer;
    const dataAt = fixed + RECORD_FIXED_BYTES;
    const size = next - dataAt;
    if (type === TYPE.a) {
      if (size === 4 && isPrivateV4(bytes, dataAt, guard.sharedSpace)) this.#strip(index);
    } else if (type === TYPE.aaaa) {
      if (size === 16 && isPrivateV6(bytes, dataAt, guard.sharedSpace)) this.#strip(index);
    } else if (type === TYPE.svcb || type === TYPE.https) {
      this.#guardHints(bytes, index, dataAt, next, guard);
    }
  }

  /** RFC 9460 §2.2: priority, target, then parameters as key, length and value. */
  #guardHints(
    bytes: Uint8Array,
    index: number,
    dataAt: number,
    end: number,
    guard: RebindingGuard,
  ): void {
    let at = skipName(bytes, dataAt + 2, end);
    let isMandatory = false;
    let isPrivate = false;
    while (at >= 0 && at + 4 <= end) {
      const key = readUint16(bytes, at);
      const size = readUint16(bytes, at + 2);
      const valueAt = at + 4;
      // Not whole: what came before is looked at all the same.
      if (valueAt + size > end) break;
      if (key === SVCB_KEY.mandatory) isMandatory = namesHints(bytes, valueAt, size);
      else if (key === SVCB_KEY.ipv4hint || key === SVCB_KEY.ipv6hint) {
        isPrivate ||= hintIsPrivate(bytes, valueAt, size, key, guard.sharedSpace);
      }
      at = valueAt + size;
    }
    if (!isPrivate) return;
    this.hasPrivate = true;
    this.#mark(index, isMandatory ? MARK_DROP : MARK_DROP_HINTS);
  }

  #strip(index: number): void {
    this.hasPrivate = true;
    this.#mark(index, MARK_DROP);
  }

  #mark(index: number, mark: number): void {
    this.marks[index] = mark;
    this.#isMarked = true;
  }
}

/** All records of an answer are of the class that was asked. RFC 2181 §5. */
function isInternet(bytes: Uint8Array, fixed: number): boolean {
  return readUint16(bytes, fixed + 2) === CLASS.internet;
}

function isDnameOrItsSignature(bytes: Uint8Array, fixed: number): boolean {
  const type = readUint16(bytes, fixed);
  if (type === TYPE.dname) return true;
  const covered = readUint16(bytes, fixed + RECORD_FIXED_BYTES);
  return type === TYPE.rrsig && covered === TYPE.dname;
}

function namesHints(bytes: Uint8Array, at: number, size: number): boolean {
  for (let index = 0; index + 2 <= size; index += 2) {
    const key = readUint16(bytes, at + index);
    if (key === SVCB_KEY.ipv4hint || key === SVCB_KEY.ipv6hint) return true;
  }
  return false;
}

function hintIsPrivate(
  bytes: Uint8Array,
  at: number,
  size: number,
  key: number,
  sharedSpace: boolean,
): boolean {
  const step = key === SVCB_KEY.ipv4hint ? 4 : 16;
  for (let index = 0; index + step <= size; index += step) {
    const isPrivate =
      step === 4
        ? isPrivateV4(bytes, at + index, sharedSpace)
        : isPrivateV6(bytes, at + index, sharedSpace);
    if (isPrivate) return true;
  }
  return false;
}
