/** Runs the parts of the hostile test one after another and sums them up. */
import { drawer, type Part } from './case.ts';
import { partText, summarise, type PartResult } from './outcome.ts';
import { DAMAGE_PART } from './part-damage.ts';
import { HANDLES_PART } from './part-handles.ts';
import { IMPORTS_PART } from './part-imports.ts';
import { KILLS_PART } from './part-kills.ts';
import { LISTS_PART } from './part-lists.ts';
import { MEMORY_PART } from './part-memory.ts';
import { UPSTREAMS_PART } from './part-upstreams.ts';

export const PARTS: readonly Part[] = [
  ...[KILLS_PART, DAMAGE_PART, HANDLES_PART, MEMORY_PART, LISTS_PART, UPSTREAMS_PART],
  IMPORTS_PART,
];

export interface RunOptions {
  readonly seed: number;
  readonly isShort: boolean;
  /** Beginnings of the names of parts; all without one. */
  readonly only: readonly string[];
  readonly say: (line: string) => void;
}

export async function runParts({ seed, isShort, only, say }: RunOptions): Promise<PartResult[]> {
  const chosen = PARTS.filter(
    ({ name }) => only.length === 0 || only.some((start) => name.startsWith(start)),
  );
  if (chosen.length === 0)
    throw new Error(`no such part; there are: ${PARTS.map(({ name }) => name).join(', ')}`);
  const results: PartResult[] = [];
  for (const part of chosen) {
    say(`${part.name} ...`);
    const startedMs = performance.now();
    const cases = await part.run({ seed, isShort, draw: drawer(seed), say });
    const result = summarise(part, cases, (performance.now() - startedMs) / 1_000);
    results.push(result);
    say(`${partText(result)}, ${String(result.seconds)} s`);
  }
  return results;
}
