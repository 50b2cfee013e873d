/**
 * Finds bytes that every name which a regular expression matches must have, so that the expression
 * need not be tried on others (engine/filter/pattern-set.ts).
 *
 * Cautious: what it does not know for certain it treats as "anything". The idea is that of RE2's
 * prefilter and of the literal extraction in Rust's regex crate. `^` and `$` count as the marks that
 * engine/filter/wildcard.ts puts round a name's text.
 */
import { TEXT_END, TEXT_START } from '../../engine/filter/wildcard.ts';

/** Most strings of one set, and the longest string. */
const SET_MAX = 16;
const STRING_MAX = 48;
/** Most sets that are kept of one expression. */
const SETS_MAX = 6;
const START = String.fromCharCode(TEXT_START);
const END = String.fromCharCode(TEXT_END);

/** How well a set of strings tells names apart: larger is better, 0 is of no use. */
export type Rater = (strings: readonly string[]) => number;

/** Strings of which a matching text has at least one. */
export type StringSet = readonly string[];

/** What is known of a piece: all that it can match, or sets of each of which a match has one. */
interface Known {
  readonly exact: readonly string[] | null;
  readonly required: readonly StringSet[];
}

const ANYTHING: Known = { exact: null, required: [] };

/**
 * Sets of strings: each matching text has at least one string of every set. The most telling set
 * comes first; [] when nothing is known.
 *
 * @param source  in RE2's syntax; one that does not compile may give anything
 */
export function requiredStrings(source: string, rate: Rater): readonly StringSet[] {
  const parser = new Parser(source.replace(/^\(\?i\)/, ''), rate);
  try {
    const known = parser.alternatives();
    return parser.isAtEnd ? parser.setsOf(known) : [];
  } catch (error) {
    if (error instanceof Unsure) return [];
    throw error;
  }
}

/** Thrown at syntax that this reader does not know. */
class Unsure extends Error {}

class Parser {
  readonly #text: string;
  readonly #rate: Rater;
  #at = 0;

  constructor(text: string, rate: Rater) {
    this.#text = text;
    this.#rate = rate;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#text.length;
  }

  /** Those of use, the most telling first. */
  setsOf({ exact, required }: Known): readonly StringSet[] {
    const sets = exact === null ? required : [exact, ...required];
    return sets
      .map((set) => ({ set, rating: this.#rate(set) }))
      .filter(({ rating }) => rating > 0)
      .sort((left, right) => right.rating - left.rating)
      .slice(0, SETS_MAX)
      .map(({ set }) => set);
  }

  alternatives(): Known {
    const branches = [this.#sequence()];
    while (this.#text[this.#at] === '|') {
      this.#at++;
      branches.push(this.#sequence());
    }
    const [first] = branches;
    if (branches.length === 1) return first as Known;
    const exact = unite(branches.map((branch) => branch.exact));
    const united = unite(branches.map((branch) => this.setsOf(branch)[0] ?? null));
    return { exact, required: united === null ? [] : [united] };
  }

  #sequence(): Known {
    let run: StringSet = [''];
    const required: StringSet[] = [];
    let isExact = true;
    while (!this.isAtEnd && this.#text[this.#at] !== '|' && this.#text[this.#at] !== ')') {
      const piece = this.#repeated();
      const joined = piece.exact === null ? null : join(run, piece.exact);
      if (joined !== null) {
        run = joined;
        continue;
      }
      isExact = false;
      required.push(run, ...piece.required);
      run = piece.exact ?? [''];
    }
    if (isExact) return { exact: run, required: [] };
    return { exact: null, required: this.setsOf({ exact: run, required }) };
  }

  #repeated(): Known {
    let piece = this.#atom();
    for (;;) {
      const quantifier = /^(?:[*+?]|\{\d+(?:,\d*)?\})\??/.exec(
        this.#text.slice(this.#at, this.#at + 16),
      );
      if (quantifier === null) return piece;
      this.#at += quantifier[0].length;
      piece = this.#repeat(piece, quantifier[0]);
    }
  }

  #repeat(piece: Known, quantifier: string): Known {
    const isOptional = /^(?:[*?]|\{0)/.test(quantifier);
    if (!isOptional) return { exact: null, required: this.setsOf(piece) };
    if (!quantifier.startsWith('?') || piece.exact === null) return ANYTHING;
    return { exact: unite([[''], piece.exact]), required: [] };
  }

  #atom(): Known {
    const char = this.#text[this.#at++] as string;
    switch (char) {
      case '(':
        return this.#group();
      case '[':
        return this.#class();
      case '.':
        return ANYTHING;
      case '^':
        return { exact: [START], required: [] };
      case '$':
        return { exact: [END], required: [] };
      case '\\':
        return this.#escape();
      default:
        return literal(char);
    }
  }

  #group(): Known {
    const opening = /^\?(?::|P?<\w+>)/.exec(this.#text.slice(this.#at, this.#at + 64));
    if (opening !== null) this.#at += opening[0].length;
    else if (this.#text[this.#at] === '?') throw new Unsure();
    const inner = this.alternatives();
    if (this.#text[this.#at] !== ')') throw new Unsure();
    this.#at++;
    return inner;
  }

  #escape(): Known {
    const char = this.#text[this.#at++] ?? '';
    if (char === 'd') return { exact: Array.from('0123456789'), required: [] };
    // Of \b, \a and \z, too, nothing is told: what stands beside them is not joined.
    if (/^[wsbazDWSBA]$/.test(char)) return ANYTHING;
    if (/^[a-zA-Z0-9]?$/.test(char)) throw new Unsure();
    return literal(char);
  }

  /** A class as its characters when they are few and plain. */
  #class(): Known {
    const body = /^\^?\]?(?:\[:\^?[a-zA-Z]+:\]|\\.|[^\]\\])*\]/.exec(this.#text.slice(this.#at));
    if (body === null) throw new Unsure();
    this.#at += body[0].length;
    const inside = body[0].slice(0, -1);
    if (!/^[a-zA-Z0-9_.-]+$/.test(inside.replaceAll('\\.', '.').replaceAll('\\-', '_')))
      return ANYTHING;
    return expand(inside.replaceAll('\\.', '.'));
  }
}

function literal(char: string): Known {
  return char.charCodeAt(0) < 0x80 && char >= ' '
    ? { exact: [char.toLowerCase()], required: [] }
    : ANYTHING;
}

/** The characters of a class of letters, digits, dots, hyphens and ranges. */
function expand(inside: string): Known {
  const chars = new Set<string>();
  for (let at = 0; at < inside.length; at++) {
    const char = inside[at] as string;
    if (char === '\\') return ANYTHING;
    const last = inside[at + 1] === '-' ? inside[at + 2] : undefined;
    if (last === undefined) {
      chars.add(char.toLowerCase());
      continue;
    }
    if (last < char || last === '\\') return ANYTHING;
    for (let code = char.charCodeAt(0); code <= last.charCodeAt(0); code++) {
      chars.add(String.fromCharCode(code).toLowerCase());
      if (chars.size > SET_MAX) return ANYTHING;
    }
    at += 2;
  }
  return chars.size > SET_MAX ? ANYTHING : { exact: [...chars], required: [] };
}

function unite(sets: readonly (readonly string[] | null)[]): readonly string[] | null {
  const all = new Set<string>();
  for (const set of sets) {
    if (set === null) return null;
    for (const one of set) all.add(one);
  }
  return all.size > SET_MAX ? null : [...all];
}

/** Each of the left followed by each of the right; null when that is too much. */
function join(left: readonly string[], right: readonly string[]): readonly string[] | null {
  if (left.length * right.length > SET_MAX) return null;
  const joined = left.flatMap((head) => right.map((tail) => joinTwo(head, tail)));
  return joined.some((one) => one.length > STRING_MAX) ? null : [...new Set(joined)];
}

/** Two marks side by side are one: `^^a` is `^a`. */
function joinTwo(head: string, tail: string): string {
  const isDouble = (mark: string): boolean => head.endsWith(mark) && tail.startsWith(mark);
  return isDouble(START) || isDouble(END) ? head + tail.slice(1) : head + tail;
}
