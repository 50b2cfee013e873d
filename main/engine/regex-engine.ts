/**
 * Regular expressions over names, in linear time: RE2's semantics by re2js, loaded when the first
 * expression is needed. Used by lists/ to try expressions at compile time, and by pattern-set.ts in
 * each thread that meets one.
 */
import type { RE2JS } from 're2js';

/** An expression ready to be tried. */
export interface NameRegex {
  /** Whether it occurs in these bytes. */
  test(bytes: Uint8Array): boolean;
  /** A measure of the work one byte can cost. */
  programSize(): number;
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
  return engine.compile(source, engine.CASE_INSENSITIVE);
}

/** Some 6 MiB that a thread without expressions does without. */
function loadEngine(): Engine {
  const { createRequire } = process.getBuiltinModule('node:module');
  const load = createRequire(import.meta.url) as (name: string) => { RE2JS: Engine };
  return load('re2js').RE2JS;
}
