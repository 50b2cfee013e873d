/**
 * The rules of one layer of the filter: a domain table of plain names, and beside it a program of
 * everything that is more than a name (conditions, wildcards, regular expressions, rewrites).
 *
 * Compiled by lists/compile/rule-set-builder.ts; opened by every data-plane thread over the same shared
 * memory. Policy.rules and Policy.lists are the two of the product.
 */
import { LIMITS } from '../../contract/limits.ts';
import { AddressTriggers } from './address-triggers.ts';
import type { NameView } from '../../dns/name.ts';
import {
  DomainTable,
  FLAG_ALLOW,
  FLAG_BELOW,
  FLAG_BLOCK,
  FLAG_CLOSEST,
  FLAG_EXACT,
  FLAG_IMPORTANT,
  FLAG_MORE,
  FLAG_RULE,
} from './domain-table.ts';
import { appliesTo, type MatchContext } from './match-context.ts';
import { PatternSet } from './pattern-set.ts';
import {
  FEATURE_PER_CLIENT,
  FEATURE_UNDO,
  PATTERN_REGEX,
  PATTERN_WORDS,
  RuleProgram,
} from './rule-program.ts';
import type { Rewrite, RuleTerms } from './rule-terms.ts';

export type { Rewrite, RewriteRecord } from './rule-terms.ts';

/** Ranks of a rule; the larger number wins. */
export const RULE_NONE = 0;
export const RULE_BLOCK = 1;
export const RULE_ALLOW = 2;
export const RULE_IMPORTANT_BLOCK = 3;
export const RULE_IMPORTANT_ALLOW = 4;

/** One rule that a name meets, for explanations. */
export interface RuleMatch {
  readonly listId: number;
  /** 1-based. */
  readonly line: number;
  /** RULE_BLOCK and up. */
  readonly rank: number;
  /** Of the listed name; 0 for patterns. */
  readonly labels: number;
  readonly kind: 'name' | 'exact' | 'wildcard' | 'regex';
  readonly rewrite: Rewrite | null;
  /** Whether `match` would go by it. */
  readonly won: boolean;
}

/**
 * What keeps a rule from counting: its list is not for this client, a condition does not hold,
 * another rule undoes its answer, or its list has a closer name (FLAG_CLOSEST); '' when nothing does.
 */
export type RuleObstacle = '' | 'list' | 'condition' | 'undone' | 'closer';

/** The memory of a rule set, as it crosses threads. */
export interface RuleBuffers {
  readonly table: SharedArrayBuffer;
  /** Null when there is nothing but plain names. */
  readonly program: SharedArrayBuffer | null;
}

/** What a walk over the matching rules does with each. */
const PASS_RANK = 0;
const PASS_UNDO = 1;
const PASS_VISIT = 2;
const PASS_FITTING = 3;

/** `#wonPattern` when the winner is a plain name, or nothing has won. */
const NO_PATTERN = -1;

const SAYS_SOMETHING = FLAG_BLOCK | FLAG_ALLOW;

export class RuleSet {
  /** The winner of the last `match` or `blocksAddress`; 0 and null after a miss. */
  listId = 0;
  /** 1-based. */
  line = 0;
  /** Labels of the listed name; 0 for patterns and addresses. */
  labels = 0;
  /** What the winner wants answered in place of the blocking answer. */
  rewrite: Rewrite | null = null;
  /** Whether the last `match` met a block rule, be it one that lost. */
  hasBlock = false;

  readonly buffers: RuleBuffers;
  /** Distinct plain names. */
  readonly nameCount: number;
  /** Everything that can match. */
  readonly ruleCount: number;
  /** Whether what is decided can depend on who asks, list masks aside. */
  readonly isPerClient: boolean;
  /** Whether there are rules about addresses in answers: `blocksAddress`. */
  readonly watchesAddresses: boolean;
  readonly #table: DomainTable;
  readonly #program: RuleProgram | null;
  readonly #patterns: PatternSet | null;
  readonly #addresses: AddressTriggers | null;
  readonly #canUndo: boolean;
  /** Rewrites that rules for the name being matched undo. */
  readonly #undone: string[] = [];
  /** Lists whose closest name was met in this walk, and its labels (or bits): closest[0, count). */
  readonly #closestLists = new Int32Array(LIMITS.listsMax + 1);
  readonly #closestLabels = new Int32Array(LIMITS.listsMax + 1);
  #closestCount = 0;
  #pass = PASS_RANK;
  #rank = RULE_NONE;
  #wonPattern = NO_PATTERN;
  readonly #visited: Omit<RuleMatch, 'won'>[] = [];
  readonly #obstacles: RuleObstacle[] = [];

  /** @throws Error when the memory is not what the builder makes */
  constructor(table: SharedArrayBuffer, program: SharedArrayBuffer | null) {
    this.buffers = { table, program };
    this.#table = new DomainTable(table);
    this.#program = program === null ? null : new RuleProgram(program);
    const { patternCount = 0, addressCount = 0, features = 0 } = this.#program ?? {};
    this.#patterns =
      this.#program !== null && patternCount > 0 ? new PatternSet(this.#program) : null;
    this.#addresses =
      this.#program !== null && addressCount > 0 ? new AddressTriggers(this.#program) : null;
    this.watchesAddresses = addressCount > 0;
    this.#canUndo = (features & FEATURE_UNDO) !== 0;
    this.isPerClient = (features & FEATURE_PER_CLIENT) !== 0;
    this.nameCount = this.#table.nameCount;
    this.ruleCount = this.#table.entryCount + patternCount + addressCount;
  }

  /** @throws Error when the memory is not what the builder makes */
  static open({ table, program }: RuleBuffers): RuleSet {
    return new RuleSet(table, program);
  }

  static empty(): RuleSet {
    return new RuleSet(DomainTable.empty().buffer as SharedArrayBuffer, null);
  }

  /** Whether the checksums hold. Reads all of the memory. */
  verify(): boolean {
    return this.#table.verify() && (this.#program?.verify() ?? true);
  }

  /** The key of what was compiled; see domain-table.ts. */
  get key(): Uint8Array {
    return this.#table.key;
  }

  /**
   * Finds the rule that a name goes by: the largest rank; of several, the one of the most specific
   * listed name, before any pattern; of several, the one that came first, but of one list and name
   * the one that has an answer of its own.
   *
   * @returns  RULE_*; sets listId, line, labels, rewrite and hasBlock
   * Cost: one probe per suffix, and with patterns two per byte; no allocation
   * (bench/micro/domain-table.bench.ts, bench/micro/patterns.bench.ts).
   */
  match(view: NameView, matchContext: MatchContext): number {
    this.#forget();
    if (this.#canUndo) this.#findUndone(view, matchContext);
    this.#pass = PASS_RANK;
    this.#walk(view, matchContext);
    return this.#rank;
  }

  /** Fetches what `match` will look at of the plain names; see domain-table.ts. */
  touch(views: readonly NameView[], count: number): number {
    return this.nameCount > 0 ? this.#table.touch(views, count) : 0;
  }

  /** Visits every rule that a name meets: names, most specific first, then patterns. Allocates. */
  forEachMatch(
    view: NameView,
    matchContext: MatchContext,
    visit: (match: RuleMatch) => void,
  ): void {
    const won = this.match(view, matchContext);
    const { listId, line, labels } = this;
    this.#pass = PASS_VISIT;
    this.#walk(view, matchContext);
    let isTold = false;
    for (const match of this.#visited.splice(0)) {
      const isWon: boolean =
        !isTold &&
        match.rank === won &&
        match.listId === listId &&
        match.line === line &&
        match.labels === labels;
      isTold ||= isWon;
      visit({ ...match, won: isWon });
    }
  }

  /**
   * Visits every rule whose name or pattern fits, and says what keeps those from counting that
   * `forEachMatch` leaves out. Allocates.
   */
  forEachFitting(
    view: NameView,
    matchContext: MatchContext,
    visit: (match: Omit<RuleMatch, 'won'>, obstacle: RuleObstacle) => void,
  ): void {
    if (this.#canUndo) this.#findUndone(view, matchContext);
    this.#pass = PASS_FITTING;
    this.#obstacles.length = 0;
    this.#walk(view, matchContext);
    for (const [index, match] of this.#visited.splice(0).entries()) {
      visit(match, this.#obstacles[index] ?? '');
    }
  }

  /**
   * Whether a rule blocks an address in an answer: triggers on addresses, not on names.
   *
   * @param address  16 bytes, IPv4 as ::ffff:a.b.c.d
   * @returns        false in one comparison when there are no such rules; else sets the winner
   */
  blocksAddress(address: Uint8Array, matchContext: MatchContext): boolean {
    if (this.#addresses === null || this.#program === null) return false;
    this.#forget();
    this.#closestCount = 0;
    const triggers = this.#addresses;
    for (let slot = triggers.first(address); slot >= 0; slot = triggers.next(address)) {
      const tag = triggers.tagOf(slot);
      if (!this.#isClosest(tag, triggers.bitsOf(slot))) continue;
      const terms = this.#program.termsAt(triggers.termsOf(slot));
      if (!appliesTo(matchContext, tag & 0xffff)) continue;
      if (terms !== null && !terms.hold(null, matchContext)) continue;
      const rank = rankOf(tag >>> 16);
      if (rank <= this.#rank) continue;
      this.#win(rank, tag & 0xffff, triggers.lineOf(slot), 0, terms);
    }
    return this.#rank === RULE_BLOCK || this.#rank === RULE_IMPORTANT_BLOCK;
  }

  #forget(): void {
    this.listId = 0;
    this.line = 0;
    this.labels = 0;
    this.rewrite = null;
    this.hasBlock = false;
    this.#rank = RULE_NONE;
    this.#wonPattern = NO_PATTERN;
  }

  #findUndone(view: NameView, matchContext: MatchContext): void {
    this.#undone.length = 0;
    this.#pass = PASS_UNDO;
    this.#walk(view, matchContext);
  }

  /** Shows every rule whose name or pattern fits to `#consider`. */
  #walk(view: NameView, matchContext: MatchContext): void {
    this.#closestCount = 0;
    if (this.nameCount > 0) this.#walkNames(view, matchContext);
    if (this.#patterns === null || this.#program === null) return;
    const program = this.#program;
    const { patterns } = program.parts;
    const count = this.#patterns.find(view);
    for (let hit = 0; hit < count; hit++) {
      const pattern = this.#patterns.hits[hit] as number;
      const tag = patterns[pattern * PATTERN_WORDS] as number;
      const line = patterns[pattern * PATTERN_WORDS + 1] as number;
      if (!this.#isClosest(tag, 0) && this.#pass !== PASS_FITTING) continue;
      this.#consider(tag, line, 0, program.patternTerms(pattern), pattern, view, matchContext);
    }
  }

  #walkNames(view: NameView, matchContext: MatchContext): void {
    const table = this.#table;
    const last = table.prepare(view);
    for (let label = 0; label <= last; label++) {
      const entry = table.find(view, label);
      if (entry >= 0) this.#walkEntries(entry, label, view, matchContext);
    }
  }

  /** Shows the entries of one listed name. */
  #walkEntries(first: number, label: number, view: NameView, matchContext: MatchContext): void {
    const table = this.#table;
    const labels = view.labelCount - label;
    for (let entry = first; ; entry++) {
      const tag = table.tagOf(entry);
      const flags = tag >>> 16;
      if (isMet(flags, label) && this.#counts(tag, labels)) {
        let line = table.lineOf(entry);
        let terms: RuleTerms | null = null;
        if ((flags & FLAG_RULE) !== 0 && this.#program !== null) {
          terms = this.#program.ruleTerms(line);
          line = this.#program.ruleLine(line);
        }
        this.#consider(tag, line, labels, terms, NO_PATTERN, view, matchContext);
      }
      if ((flags & FLAG_MORE) === 0) return;
    }
  }

  /** Whether an entry says something, and no closer name of its list has spoken. */
  #counts(tag: number, labels: number): boolean {
    if (((tag >>> 16) & FLAG_CLOSEST) === 0) return true;
    const isClosest = this.#isClosest(tag, labels);
    if (((tag >>> 16) & SAYS_SOMETHING) === 0) return false;
    return isClosest || this.#pass === PASS_FITTING;
  }

  /**
   * Whether no closer name (or longer prefix) of the entry's list was met before, for a list of which
   * only the closest counts. The walk goes from the closest on.
   */
  #isClosest(tag: number, labels: number): boolean {
    if (((tag >>> 16) & FLAG_CLOSEST) === 0) return true;
    const listId = tag & 0xffff;
    const lists = this.#closestLists;
    for (let index = 0; index < this.#closestCount; index++) {
      if (lists[index] === listId) return this.#closestLabels[index] === labels;
    }
    if (this.#closestCount === lists.length) return true;
    lists[this.#closestCount] = listId;
    this.#closestLabels[this.#closestCount++] = labels;
    return true;
  }

  /** One rule whose name or pattern fits: looks at list and conditions, then does what is due. */
  #consider(
    tag: number,
    line: number,
    labels: number,
    terms: RuleTerms | null,
    pattern: number,
    view: NameView,
    matchContext: MatchContext,
  ): void {
    if (this.#pass === PASS_FITTING) {
      if (terms !== null && terms.undo !== null) return;
      this.#visit(tag, line, labels, terms, pattern);
      this.#obstacles.push(this.#obstacleOf(tag, labels, terms, view, matchContext));
      return;
    }
    if (!appliesTo(matchContext, tag & 0xffff)) return;
    if (terms !== null && !this.#isInForce(terms, view, matchContext)) return;
    if (this.#pass === PASS_UNDO) return;
    const flags = tag >>> 16;
    const rank = rankOf(flags);
    if (this.#pass === PASS_VISIT) {
      this.#visit(tag, line, labels, terms, pattern);
      return;
    }
    if ((flags & FLAG_BLOCK) !== 0) this.hasBlock = true;
    if (rank < this.#rank) return;
    if (rank === this.#rank && !this.#comesBefore(tag & 0xffff, labels, terms, pattern)) return;
    this.#win(rank, tag & 0xffff, line, labels, terms);
    this.#wonPattern = pattern;
  }

  #visit(
    tag: number,
    line: number,
    labels: number,
    terms: RuleTerms | null,
    pattern: number,
  ): void {
    const flags = tag >>> 16;
    const kind = kindOf(flags, pattern);
    const rewrite = terms?.rewrite ?? null;
    const rank = rankOf(flags);
    this.#visited.push({ listId: tag & 0xffff, line, rank, labels, kind, rewrite });
  }

  #obstacleOf(
    tag: number,
    labels: number,
    terms: RuleTerms | null,
    view: NameView,
    matchContext: MatchContext,
  ): RuleObstacle {
    if (!appliesTo(matchContext, tag & 0xffff)) return 'list';
    if (!this.#isClosest(tag, labels)) return 'closer';
    if (terms === null || this.#isInForce(terms, view, matchContext)) return '';
    return terms.hold(view, matchContext) ? 'undone' : 'condition';
  }

  /** Whether a rule of the winner's rank is to win in its place. */
  #comesBefore(listId: number, labels: number, terms: RuleTerms | null, pattern: number): boolean {
    if (pattern !== NO_PATTERN) return pattern < this.#wonPattern;
    const isOfSameName = listId === this.listId && labels === this.labels;
    return isOfSameName && this.rewrite === null && terms !== null && terms.rewrite !== null;
  }

  /** Whether the conditions hold, and the rule is one that decides. Notes what it undoes. */
  #isInForce(terms: RuleTerms, view: NameView, matchContext: MatchContext): boolean {
    if (!terms.hold(view, matchContext)) return false;
    if (terms.undo !== null) {
      if (this.#pass === PASS_UNDO) this.#undone.push(terms.undo);
      return false;
    }
    if (terms.rewrite === null || this.#undone.length === 0) return true;
    return !this.#undone.includes('') && !this.#undone.includes(terms.rewriteText);
  }

  #win(rank: number, listId: number, line: number, labels: number, terms: RuleTerms | null): void {
    this.#rank = rank;
    this.listId = listId;
    this.line = line;
    this.labels = labels;
    this.rewrite = terms === null ? null : terms.rewrite;
  }
}

/** Whether an entry found at this label of the name speaks of the name. */
function isMet(flags: number, label: number): boolean {
  return label === 0 ? (flags & FLAG_BELOW) === 0 : (flags & FLAG_EXACT) === 0;
}

function rankOf(flags: number): number {
  const rank = (flags & FLAG_ALLOW) !== 0 ? RULE_ALLOW : RULE_BLOCK;
  return (flags & FLAG_IMPORTANT) !== 0 ? rank + 2 : rank;
}

function kindOf(flags: number, pattern: number): RuleMatch['kind'] {
  if (pattern !== NO_PATTERN) return (flags & PATTERN_REGEX) === 0 ? 'wildcard' : 'regex';
  return (flags & FLAG_EXACT) === 0 ? 'name' : 'exact';
}
