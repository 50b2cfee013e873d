/**
 * Runs a compiled regular expression over a name without allocating: a deterministic automaton that
 * is made of the expression's program state by state, as names come by. RE2 does the same.
 *
 * Used by regex-engine.ts. It knows the bytes that names are made of, and a bounded number of
 * states; for other bytes and beyond the bound it gives no answer, and the engine itself is asked.
 */

/** One instruction, as re2js has it. */
export interface Instruction {
  readonly op: number;
  readonly out: number;
  readonly arg: number;
  matchRune(rune: number): boolean;
}

export interface InstructionProgram {
  readonly inst: readonly Instruction[];
  readonly start: number;
}

/** What `run` returns beside 0 and 1. */
export const DFA_UNKNOWN = -1;

const OP_ALT = 1;
const OP_ALT_MATCH = 2;
const OP_CAPTURE = 3;
const OP_EMPTY_WIDTH = 4;
const OP_FAIL = 5;
const OP_MATCH = 6;
const OP_NOP = 7;

/** Conditions of OP_EMPTY_WIDTH. A name is one line. */
const AT_BEGIN = 1 | 4;
const AT_END = 2 | 8;
const AT_BORDER = 16;
const NOT_AT_BORDER = 32;

const STATES_MAX = 128;
/** Of all states together. */
const THREADS_MAX = 2_048;
const CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789_-.';
const END_SYMBOL = CHARACTERS.length;
const SYMBOLS = CHARACTERS.length + 1;
const NO_SYMBOL = 255;

/** The symbol of each byte. */
const SYMBOL_OF = new Uint8Array(256).fill(NO_SYMBOL);
for (let index = 0; index < CHARACTERS.length; index++) {
  SYMBOL_OF[CHARACTERS.charCodeAt(index)] = index;
}
/** Symbols below this are word characters: letters, digits, underscore. */
const WORD_SYMBOLS = 37;

const NEXT_UNKNOWN = 0;
const NEXT_MATCH = 1;
const NEXT_FULL = 2;
/** States are numbered from here on. */
const FIRST_STATE = 3;

/** Where in the name a state stands. */
const BEHIND_NOTHING = 0;
const BEHIND_WORD = 1;
const BEHIND_OTHER = 2;

interface State {
  /** Instructions to go on with, in ascending order. */
  readonly threads: readonly number[];
  readonly behind: number;
}

export class RegexDfa {
  readonly #program: InstructionProgram;
  readonly #states: State[] = [];
  readonly #numbers = new Map<string, number>();
  /** By state and symbol: the next state, or NEXT_*. Grows with the states. */
  #next = new Uint8Array(4 * SYMBOLS);
  readonly #marks: Uint8Array;
  #threadCount = 0;

  constructor(program: InstructionProgram) {
    this.#program = program;
    this.#marks = new Uint8Array(program.inst.length);
    this.#numberOf([], BEHIND_NOTHING);
  }

  /** 1 when the expression occurs in the bytes, 0 when not, DFA_UNKNOWN when it cannot be told. */
  run(bytes: Uint8Array): number {
    let state = FIRST_STATE;
    const length = bytes.length;
    for (let at = 0; at <= length; at++) {
      const symbol = at === length ? END_SYMBOL : (SYMBOL_OF[bytes[at] as number] as number);
      if (symbol === NO_SYMBOL) return DFA_UNKNOWN;
      let next = this.#next[(state - FIRST_STATE) * SYMBOLS + symbol] as number;
      if (next === NEXT_UNKNOWN) next = this.#step(state, symbol);
      if (next === NEXT_MATCH) return 1;
      if (next === NEXT_FULL) return DFA_UNKNOWN;
      state = next;
    }
    return 0;
  }

  #step(number: number, symbol: number): number {
    const { threads, behind } = this.#states[number - FIRST_STATE] as State;
    const reached = this.#follow(threads, conditionsAt(behind, symbol));
    const next = reached === null ? NEXT_MATCH : this.#advance(reached, symbol);
    this.#next[(number - FIRST_STATE) * SYMBOLS + symbol] = next;
    return next;
  }

  /** Instructions that take a character, reached without one; null when a match is among them. */
  #follow(threads: readonly number[], conditions: number): number[] | null {
    const { inst, start } = this.#program;
    const marks = this.#marks.fill(0);
    const takers: number[] = [];
    const stack = [...threads, start];
    for (let index = stack.pop(); index !== undefined; index = stack.pop()) {
      if (marks[index] === 1) continue;
      marks[index] = 1;
      const { op, out, arg } = inst[index] as Instruction;
      if (op === OP_MATCH) return null;
      if (op === OP_ALT || op === OP_ALT_MATCH) stack.push(out, arg);
      else if (op === OP_CAPTURE || op === OP_NOP) stack.push(out);
      else if (op === OP_EMPTY_WIDTH && (arg & ~conditions) === 0) stack.push(out);
      else if (op > OP_NOP) takers.push(index);
    }
    return takers;
  }

  #advance(takers: readonly number[], symbol: number): number {
    const { inst } = this.#program;
    const rune = symbol === END_SYMBOL ? -1 : CHARACTERS.charCodeAt(symbol);
    const threads = new Set<number>();
    for (const index of takers) {
      const instruction = inst[index] as Instruction;
      const takes = rune >= 0 && instruction.matchRune(rune);
      if (takes && inst[instruction.out]?.op !== OP_FAIL) threads.add(instruction.out);
    }
    const sorted = [...threads].sort((left, right) => left - right);
    return this.#numberOf(sorted, symbol < WORD_SYMBOLS ? BEHIND_WORD : BEHIND_OTHER);
  }

  /** The number of a state, a new one if need be; NEXT_FULL when there are too many. */
  #numberOf(threads: readonly number[], behind: number): number {
    const key = `${String(behind)}:${threads.join()}`;
    const known = this.#numbers.get(key);
    if (known !== undefined) return known;
    if (this.#states.length >= STATES_MAX) return NEXT_FULL;
    if (this.#threadCount + threads.length > THREADS_MAX) return NEXT_FULL;
    this.#threadCount += threads.length;
    this.#states.push({ threads, behind });
    const number = FIRST_STATE + this.#states.length - 1;
    this.#numbers.set(key, number);
    if (this.#states.length * SYMBOLS > this.#next.length) {
      const grown = new Uint8Array(this.#next.length * 2);
      grown.set(this.#next);
      this.#next = grown;
    }
    return number;
  }
}

/** Conditions that hold between what is behind and a symbol. */
function conditionsAt(behind: number, symbol: number): number {
  const isBorder = (behind === BEHIND_WORD) !== symbol < WORD_SYMBOLS;
  return (
    (behind === BEHIND_NOTHING ? AT_BEGIN : 0) |
    (symbol === END_SYMBOL ? AT_END : 0) |
    (isBorder ? AT_BORDER : NOT_AT_BORDER)
  );
}
