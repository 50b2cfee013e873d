/**
 * Looks at an upstream's answer once, before it is kept: does it belong to the question, and does
 * it lead where nobody from outside should lead?
 *
 *   - The answer section is a chain of aliases from the question name. A loop, or more than
 *     CHAIN_MAX aliases, makes the whole answer worthless; records of names that are not in the
 *     chain, or of another class, are left out (RFC 2181 §5.4.1: they may be a forger's).
 *   - Of the other sections, what has nothing to do with the chain is left out
 *     (answer-surroundings.ts).
 *   - Private addresses in the answer for a public name are left out, in any section, and so are
 *     the address hints of SVCB and HTTPS records (RFC 9460 §7.3). Names that only a home network
 *     can have (home-name.ts) may have them.
 *
 * Only class IN has such rules. Called by steps/settle.ts; what is to change is marked here and
 * changed by answer-rewriter.ts. Allocates once, at the first answer.
 */
import { LIMITS } from '../contract/limits.ts';
import { MARK_DROP, MARK_DROP_HINTS, MARK_KEEP } from './answer-marks.ts';
import { AnswerName, ROOT_HASH } from './answer-name.ts';
import { AnswerSurroundings, type Chain } from './answer-surroundings.ts';
import { RECORDS_MAX, type Answer } from './answer.ts';
import { isHomeName } from './home-name.ts';
import { isPrivateV4, isPrivateV6 } from './private-address.ts';
import type { Query } from './query.ts';
import type { SuffixSet } from './suffix-set.ts';
import {
  CLASS,
  HEADER_BYTES,
  readUint16,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  SVCB_KEY,
  TYPE,
} from './wire.ts';

/** Nothing to be changed. */
export const LOOK_CLEAN = 0;
/** Some records are to be changed: see `marks`. */
export const LOOK_MARKED = 1;
/** A loop or an over-long chain: no answer at all. */
export const LOOK_WRONG = 2;
export type Look = typeof LOOK_CLEAN | typeof LOOK_MARKED | typeof LOOK_WRONG;

/** Aliases followed from the question name. */
export const CHAIN_MAX = LIMITS.chainAliasesMax;
/** CNAME records looked at; an honest answer has no more than it needs. */
const ALIASES_SEEN_MAX = 4 * CHAIN_MAX;

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
  /** Hash of each answer record's owner. */
  #owners = new Int32Array(0);
  readonly #aliasOwners = new Int32Array(ALIASES_SEEN_MAX);
  readonly #aliasTargets = new Int32Array(ALIASES_SEEN_MAX);
  /** Where the targets stand. */
  readonly #aliasPlaces = new Int32Array(ALIASES_SEEN_MAX);
  #aliases = 0;
  readonly #chain: Chain = {
    hashes: new Int32Array(CHAIN_MAX + 1),
    places: new Int32Array(CHAIN_MAX + 1),
    length: 0,
  };
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
    if (!this.#readRecords(answer, query, guard)) return LOOK_WRONG;
    if (!this.#followChain(query)) return LOOK_WRONG;
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
    if (this.marks.length === 0) {
      this.marks = new Uint8Array(RECORDS_MAX);
      this.#owners = new Int32Array(RECORDS_MAX);
    }
    this.#aliases = 0;
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
      if (isAnswer && !this.#noteAnswer(answer, query, index, at, fixed)) return false;
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

  /** Notes what the chain needs of a record of the answer section. */
  #noteAnswer(answer: Answer, query: Query, index: number, at: number, fixed: number): boolean {
    if (!this.#noteOwner(answer, query, at, index)) return false;
    const type = readUint16(answer.bytes, fixed);
    if (type === TYPE.dname) this.#hasDname = true;
    if (!isInternet(answer.bytes, fixed)) return true;
    return type !== TYPE.cname || this.#noteAlias(answer, query, fixed, index);
  }

  #noteOwner(answer: Answer, query: Query, at: number, index: number): boolean {
    const { bytes } = answer;
    if (bytes[at] === 0xc0 && bytes[at + 1] === HEADER_BYTES) {
      this.#owners[index] = questionHash(query);
      return true;
    }
    if (!this.#name.read(answer, at, query.name, 0, query.nameLength)) return false;
    this.#owners[index] = this.#name.hash;
    return true;
  }

  #noteAlias(answer: Answer, query: Query, fixed: number, index: number): boolean {
    if (this.#aliases === ALIASES_SEEN_MAX) return false;
    const dataAt = fixed + RECORD_FIXED_BYTES;
    if (!this.#name.read(answer, dataAt, query.name, 0, query.nameLength)) return false;
    this.#aliasOwners[this.#aliases] = this.#owners[index] as number;
    this.#aliasPlaces[this.#aliases] = dataAt;
    this.#aliasTargets[this.#aliases++] = this.#name.hash;
    return true;
  }

  /** Walks the aliases from the question name. False for a loop or a chain that is too long. */
  #followChain(query: Query): boolean {
    const chain = this.#chain;
    let current = questionHash(query);
    chain.hashes[0] = current;
    chain.length = 1;
    for (;;) {
      const alias = this.#aliasOf(current);
      if (alias < 0) return true;
      current = this.#aliasTargets[alias] as number;
      if (this.#isInChain(current) || chain.length > CHAIN_MAX) return false;
      chain.places[chain.length] = this.#aliasPlaces[alias] as number;
      chain.hashes[chain.length++] = current;
    }
  }

  #aliasOf(owner: number): number {
    for (let alias = 0; alias < this.#aliases; alias++) {
      if (this.#aliasOwners[alias] === owner) return alias;
    }
    return -1;
  }

  #isInChain(hash: number): boolean {
    const { hashes, length } = this.#chain;
    for (let index = 0; index < length; index++) {
      if (hashes[index] === hash) return true;
    }
    return false;
  }

  /** Marks answer records of names that the chain does not lead to. */
  #markStrangers(answer: Answer, query: Query): void {
    const { bytes, bodyAt, bodyLength, answerCount } = answer;
    const end = bodyAt + bodyLength;
    let at = bodyAt;
    for (let index = 0; index < answerCount; index++) {
      const fixed = skipName(bytes, at, end);
      const isOurs = isInternet(bytes, fixed);
      if (!isOurs || !this.#isInChain(this.#owners[index] as number)) {
        const isDname = isOurs && this.#hasDname && isDnameOrItsSignature(bytes, fixed);
        if (!isDname || !this.#isAbove(answer, query, index)) {
          const isKept = this.marks[index] !== MARK_DROP;
          if (isKept && readUint16(bytes, fixed) === query.type) this.#strangersWanted++;
          this.#mark(index, MARK_DROP);
        }
      }
      at = recordEnd(bytes, fixed, end);
    }
  }

  /** Whether the owner of a DNAME lies above a name of the chain. RFC 6672 §2.2. */
  #isAbove(answer: Answer, query: Query, index: number): boolean {
    const owner = this.#owners[index] as number;
    for (let label = 0; label < query.labelCount; label++) {
      if (query.suffixHashes[label] === owner) return true;
    }
    const { bytes, bodyAt, bodyLength, answerCount } = answer;
    const end = bodyAt + bodyLength;
    let at = bodyAt;
    for (let other = 0; other < answerCount; other++) {
      const fixed = skipName(bytes, at, end);
      const isAlias = readUint16(bytes, fixed) === TYPE.cname;
      if (isAlias && this.#isInChain(this.#owners[other] as number)) {
        const name = this.#name;
        name.read(answer, fixed + RECORD_FIXED_BYTES, query.name, 0, query.nameLength);
        for (let label = 0; label < name.labelCount; label++) {
          if (name.suffixHashes[label] === owner) return true;
        }
      }
      at = recordEnd(bytes, fixed, end);
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

function questionHash(query: Query): number {
  return query.labelCount === 0 ? ROOT_HASH : (query.suffixHashes[0] as number);
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
