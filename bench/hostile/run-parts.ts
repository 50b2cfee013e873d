/** Runs the parts of the hostile test one after another and sums them up. */
import { drawer, type CaseResult, type Part } from './case.ts';
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

export interface PartResult {
  readonly name: string;
  readonly criterion: string;
  readonly runs: number;
  readonly failed: number;
  readonly questionsSent: number;
  readonly questionsAnswered: number;
  /** Over all cases that measure it. */
  readonly worstGapMs: number | null;
  readonly seconds: number;
  readonly cases: readonly CaseResult[];
}

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
    const result = summary(part, cases, (performance.now() - startedMs) / 1_000);
    results.push(result);
    const { runs, failed, questionsSent, questionsAnswered, worstGapMs, seconds } = result;
    say(
      `${part.name}: ${String(runs)} runs, ${String(failed)} failed, ${String(questionsAnswered)} of ` +
        `${String(questionsSent)} questions answered, worst gap ${String(worstGapMs)} ms, ${String(seconds)} s`,
    );
  }
  return results;
}

function summary(
  { name, criterion }: Part,
  cases: readonly CaseResult[],
  seconds: number,
): PartResult {
  const sum = (of: (one: CaseResult) => number): number =>
    cases.reduce((all, one) => all + of(one), 0);
  const gaps = cases.flatMap(({ worstGapMs }) => (worstGapMs === null ? [] : [worstGapMs]));
  return {
    ...{ name, criterion },
    // A storm is one case of many kills.
    runs: sum(({ figures }) => (typeof figures?.['kills'] === 'number' ? figures['kills'] : 1)),
    failed: cases.filter(({ failure }) => failure !== '').length,
    questionsSent: sum(({ sent }) => sent),
    questionsAnswered: sum(({ answered }) => answered),
    worstGapMs: gaps.length === 0 ? null : Math.max(...gaps),
    seconds: Math.round(seconds),
    cases,
  };
}
