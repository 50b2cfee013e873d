/**
 * The names that an answer is about: the question's, then the target of each alias (CNAME) that leads
 * on from there. Made by answer-inspector.ts, read by answer-surroundings.ts too.
 *
 * Names are compared, not only their hashes: somebody who may put names of his choice into an answer
 * finds pairs of equal hashes, and would have his records believed. The hash says quickly what is
 * different; where a name is, as mostly, a pointer to another place, the places say what is equal.
 * Allocates nothing.
 */
import { LIMITS } from '../../contract/limits.ts';
import { AnswerName, isSameName, pointerAt } from './answer-name.ts';
import type { Answer } from './answer.ts';
import type { NameView } from '../../dns/name.ts';
import type { Query } from '../query/query.ts';
import { HEADER_BYTES } from '../../dns/wire.ts';

/** Aliases followed from the question name. */
export const CHAIN_MAX = LIMITS.chainAliasesMax;
/** CNAME records looked at; an honest answer has no more than it needs. */
const ALIASES_SEEN_MAX = 4 * CHAIN_MAX;
/** The place of the question's name. */
const QUESTION = -1;

export class AnswerChain {
  /** Where each name stands in the answer, and its hash. */
  readonly #places = new Int32Array(CHAIN_MAX + 1);
  readonly #hashes = new Int32Array(CHAIN_MAX + 1);
  length = 0;
  readonly #aliasOwners = new Int32Array(ALIASES_SEEN_MAX);
  readonly #aliasTargets = new Int32Array(ALIASES_SEEN_MAX);
  readonly #aliasHashes = new Int32Array(ALIASES_SEEN_MAX);
  #aliases = 0;
  readonly #name = new AnswerName();
  readonly #other = new AnswerName();
  #answer: Answer | null = null;
  #query: Query | null = null;
  /** Offset in the message at which the answer's body begins. */
  #bodyOffset = 0;

  /** Begins anew, for an answer to a question. */
  begin(answer: Answer, query: Query): void {
    this.#answer = answer;
    this.#query = query;
    this.#bodyOffset = HEADER_BYTES + query.questionLength;
    this.#aliases = 0;
    this.length = 0;
  }

  /** Notes an alias by the places of its two names. False when there are too many. */
  addAlias(ownerAt: number, targetAt: number): boolean {
    if (this.#aliases === ALIASES_SEEN_MAX) return false;
    const target = this.#read(targetAt, this.#name);
    if (target === null) return false;
    this.#aliasOwners[this.#aliases] = ownerAt;
    this.#aliasTargets[this.#aliases] = targetAt;
    this.#aliasHashes[this.#aliases++] = hashOf(target);
    return true;
  }

  /** Walks the aliases from the question name. False for a loop or a chain that is too long. */
  follow(): boolean {
    this.#places[0] = QUESTION;
    this.#hashes[0] = hashOf(this.#query as Query);
    this.length = 1;
    for (let last = QUESTION; ;) {
      const alias = this.#aliasOf(last);
      if (alias < 0) return true;
      last = this.#aliasTargets[alias] as number;
      if (this.has(last) || this.length > CHAIN_MAX) return false;
      this.#places[this.length] = last;
      this.#hashes[this.length++] = this.#aliasHashes[alias] as number;
    }
  }

  /** Whether the name at a place of the answer is one of the chain. */
  has(at: number): boolean {
    const place = this.#placeOf(at);
    for (let link = 0; link < this.length; link++) {
      if (this.#placeOf(this.#places[link] as number) === place) return true;
    }
    // Written out twice, or a pointer into a longer name.
    const name = this.#read(place, this.#name);
    if (name === null) return false;
    return this.includes(name);
  }

  /** A name of the chain, valid until the next call; null when it does not parse. */
  nameOf(link: number): NameView | null {
    return this.#read(this.#places[link] as number, this.#other);
  }

  /** Whether a name that the caller has read is one of the chain. */
  includes(name: NameView): boolean {
    const hash = hashOf(name);
    for (let link = 0; link < this.length; link++) {
      if (this.#hashes[link] !== hash) continue;
      const other = this.nameOf(link);
      if (other !== null && isSameName(name, other)) return true;
    }
    return false;
  }

  #aliasOf(at: number): number {
    const place = this.#placeOf(at);
    for (let alias = 0; alias < this.#aliases; alias++) {
      const owner = this.#placeOf(this.#aliasOwners[alias] as number);
      if (owner === place || this.#isSame(owner, place)) return alias;
    }
    return -1;
  }

  #isSame(left: number, right: number): boolean {
    const name = this.#read(left, this.#name);
    const other = this.#read(right, this.#other);
    return name !== null && other !== null && isSameName(name, other);
  }

  /** Where a name really begins, when all there is of it is a pointer. */
  #placeOf(at: number): number {
    if (at === QUESTION || this.#answer === null) return at;
    const { bytes, bodyAt, bodyLength } = this.#answer;
    const target = pointerAt(bytes, at, bodyAt + bodyLength);
    if (target === HEADER_BYTES) return QUESTION;
    return target < this.#bodyOffset ? at : bodyAt + target - this.#bodyOffset;
  }

  #read(at: number, into: AnswerName): NameView | null {
    const query = this.#query as Query;
    if (at === QUESTION) return query;
    const isRead = into.read(this.#answer as Answer, at, query.name, 0, query.nameLength);
    return isRead ? into : null;
  }
}

/** The root, which has no label, shares its hash with a few others. */
function hashOf(name: NameView): number {
  return name.labelCount === 0 ? 0 : (name.suffixHashes[0] as number);
}
