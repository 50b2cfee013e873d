/** What the hostile test comes to: the result file's sums, and the sentence in README.md. */
import type { CaseResult, Part } from './case.ts';

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

export interface HostileOutcome {
  readonly seed: number;
  readonly parts: readonly PartResult[];
  /** Cases that failed. */
  readonly failed: number;
}

export function summarise(
  { name, criterion }: Pick<Part, 'name' | 'criterion'>,
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

export function partText({ name, runs, failed, worstGapMs, ...sums }: PartResult): string {
  const count = (value: number): string => value.toLocaleString('en-US');
  const gap =
    worstGapMs === null ? '' : `, never longer than ${count(worstGapMs)} ms without an answer`;
  return (
    `${name}: ${count(runs)} runs, ${count(failed)} failed, ${count(sums.questionsAnswered)} of ` +
    `${count(sums.questionsSent)} questions answered${gap}`
  );
}

/** @param command  that made the result */
export function hostileSentence({ parts, seed }: HostileOutcome, command: string): string {
  const all = parts.map(partText).join('; ');
  return `Hostile test of the built program: ${all}. Seed ${String(seed)}, \`${command}\`.`;
}
