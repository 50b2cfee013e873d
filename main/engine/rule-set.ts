/**
 * The rules of one layer of the filter: a domain table of plain names, and beside it a program of
 * everything that is more than a name (conditions, wildcards, regular expressions, rewrites).
 *
 * Compiled by lists/rule-set-builder.ts; opened by every data-plane thread over the same shared
 * memory. Policy.rules and Policy.lists are the two of the product.
 */
import {
  DomainTable,
  FLAG_ALLOW,
  FLAG_BELOW,
  FLAG_BLOCK,
  FLAG_EXACT,
  FLAG_IMPORTANT,
  FLAG_MORE,
  type NameView,
} from './domain-table.ts';
import { appliesTo, type MatchContext } from './match-context.ts';

/** Ranks of a rule; the larger number wins. */
export const RULE_NONE = 0;
export const RULE_BLOCK = 1;
export const RULE_ALLOW = 2;
export const RULE_IMPORTANT_BLOCK = 3;
export const RULE_IMPORTANT_ALLOW = 4;

/** What is answered in place of the blocking answer. */
export interface Rewrite {
  readonly rcode: number;
  /** Presentation form; '' for none. */
  readonly cname: string;
  /** With rcode 0 and no cname, [] means NODATA. */
  readonly records: readonly RewriteRecord[];
  /** No answer at all. */
  readonly drop: boolean;
}

export interface RewriteRecord {
  readonly type: number;
  readonly ttl: number;
  /** Wire form, names in it not compressed. */
  readonly rdata: Uint8Array;
}

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

/** The memory of a rule set, as it crosses threads. */
export interface RuleBuffers {
  readonly table: SharedArrayBuffer;
  /** Null when there is nothing but plain names. */
  readonly program: SharedArrayBuffer | null;
}

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
  /** Whether what is decided can depend on who asks. */
  readonly isPerClient: boolean = false;
  readonly #table: DomainTable;
  #rank = RULE_NONE;

  /** @throws Error when the memory is not what the builder makes */
  constructor(table: SharedArrayBuffer, program: SharedArrayBuffer | null) {
    this.buffers = { table, program };
    this.#table = new DomainTable(table);
    this.nameCount = this.#table.nameCount;
    this.ruleCount = this.#table.entryCount;
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
    return this.#table.verify();
  }

  /** The key of what was compiled; see domain-table.ts. */
  get key(): Uint8Array {
    return this.#table.key;
  }

  /**
   * Finds the rule that a name goes by: the largest rank; of several, the one of the most specific
   * listed name, before any pattern; of several, the one that came first.
   *
   * @returns  RULE_*; sets listId, line, labels, rewrite and hasBlock
   * Cost: one probe per suffix, no allocation (bench/micro/domain-table.bench.ts).
   */
  match(view: NameView, context: MatchContext): number {
    this.#forget();
    if (this.nameCount > 0) this.#matchNames(view, context);
    return this.#rank;
  }

  /** Fetches what `match` will look at of the plain names; see domain-table.ts. */
  touch(views: readonly NameView[], count: number): number {
    return this.nameCount > 0 ? this.#table.touch(views, count) : 0;
  }

  /** Visits every rule that a name meets, most specific names first. May allocate. */
  forEachMatch(view: NameView, context: MatchContext, visit: (match: RuleMatch) => void): void {
    const won = this.match(view, context);
    const { listId, line, labels } = this;
    const last = this.#table.prepare(view);
    for (let label = 0; label <= last; label++) {
      let entry = this.#table.find(view, label);
      for (let more = entry >= 0; more; entry++) {
        const flags = this.#table.flagsOf(entry);
        more = (flags & FLAG_MORE) !== 0;
        const list = this.#table.listOf(entry);
        if (!isMet(flags, label) || !appliesTo(context, list)) continue;
        const match = {
          listId: list,
          line: this.#table.lineOf(entry),
          rank: rankOf(flags),
          labels: view.labelCount - label,
          kind: (flags & FLAG_EXACT) === 0 ? ('name' as const) : ('exact' as const),
          rewrite: null,
        };
        const isSame = match.listId === listId && match.line === line && match.labels === labels;
        visit({ ...match, won: isSame && match.rank === won });
      }
    }
  }

  /**
   * Whether a rule blocks an address in an answer: triggers on addresses, not on names.
   *
   * @param _address  16 bytes, IPv4 as ::ffff:a.b.c.d
   * @returns         false in one comparison when there are no such rules; else sets the winner
   */
  // eslint-disable-next-line @typescript-eslint/no-unused-vars -- a table has no such rules
  blocksAddress(_address: Uint8Array, _context: MatchContext): boolean {
    return false;
  }

  #forget(): void {
    this.listId = 0;
    this.line = 0;
    this.labels = 0;
    this.rewrite = null;
    this.hasBlock = false;
    this.#rank = RULE_NONE;
  }

  #matchNames(view: NameView, context: MatchContext): void {
    const table = this.#table;
    const last = table.prepare(view);
    for (let label = 0; label <= last; label++) {
      const entry = table.find(view, label);
      if (entry >= 0) this.#take(entry, label, view, context);
    }
  }

  /** Looks at the entries of one listed name. */
  #take(first: number, label: number, view: NameView, context: MatchContext): void {
    const table = this.#table;
    for (let entry = first; ; entry++) {
      const flags = table.flagsOf(entry);
      if (isMet(flags, label) && appliesTo(context, table.listOf(entry))) {
        const rank = rankOf(flags);
        if ((flags & FLAG_BLOCK) !== 0) this.hasBlock = true;
        if (rank > this.#rank) {
          this.#rank = rank;
          this.listId = table.listOf(entry);
          this.line = table.lineOf(entry);
          this.labels = view.labelCount - label;
        }
      }
      if ((flags & FLAG_MORE) === 0) return;
    }
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
