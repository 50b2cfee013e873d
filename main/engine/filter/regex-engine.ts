/**
 * Regular expressions over names, in linear time: RE2's semantics by re2js, loaded when the first
 * expression is needed, with an automaton of our own (regex-dfa.ts) in front that allocates nothing.
 *
 * Used by lists/ to try expressions at compile time, and by pattern-set.ts in each thread that meets
 * one.
 */
import type { RE2JS } from 're2js';
import { DFA_UNKNOWN, RegexDfa, type InstructionProgram } from './regex-dfa.ts';

/** An expression ready to be tried. */
export class NameRegex {
  readonly #regex: RE2JS;
  #dfa: RegexDfa | null = null;
  /** Whether it was tried since regex-shelf.ts last looked. */
  isUsed = false;

  constructor(regex: RE2JS) {
    this.#regex = regex;
  }

  /** Whether it occurs in these bytes. */
  test(bytes: Uint8Array): boolean {
    this.isUsed = true;
    this.#dfa ??= new RegexDfa(programOf(this.#regex));
    const found = this.#dfa.run(bytes);
    return found === DFA_UNKNOWN ? this.#regex.test(bytes) : found === 1;
  }

  /** A measure of the work one byte can cost. */
  get size(): number {
    return this.#regex.programSize();
  }
}

type Engine = typeof RE2JS;
let engine: Engine | null = null;

/**
 * Compiles an expression; letter case is ignored, as names have none.
 *
 * @throws Error with the engine's reason when it is none, or uses what cannot run in linear time
 */
export function compileRegex(source: string): NameRegex {
  engine ??= loadEngine();
  return new NameRegex(engine.compile(source, engine.CASE_INSENSITIVE));
}

/** The instructions, which the package keeps to itself: its exact version is part of the contract. */
function programOf(regex: RE2JS): InstructionProgram {
  return (regex.re2() as unknown as { prog: InstructionProgram }).prog;
}

/** Some 6 MiB that a thread without expressions does without. */
function loadEngine(): Engine {
  const { createRequire } = process.getBuiltinModule('node:module');
  const load = createRequire(import.meta.url) as (name: string) => { RE2JS: Engine };
  return load('re2js').RE2JS;
}
