/** What a kill test comes to: the result file, and the sentence in README.md. */
import type { Flavour } from '../../test/system-dns/support/machine.ts';
import type { RunResult } from './inside.ts';

export interface KillOutcome {
  readonly seed: number;
  readonly runs: number;
  readonly failed: number;
  /** Longest times, milliseconds: until a name was found again, whoever saw to it. */
  readonly resolvedMsMost: number;
  /** Until everything was as before, by the guardian, from the blow. */
  readonly restoredMsMost: number;
  /** The same by the next start, from its launch. */
  readonly nextStartMsMost: number;
  readonly owners: readonly OwnerOutcome[];
  readonly failures: readonly RunResult[];
}

export interface OwnerOutcome {
  readonly owner: Flavour;
  readonly runs: number;
  readonly failed: number;
  readonly resolvedMsMost: number;
}

export function summarise(results: readonly RunResult[], seed: number): KillOutcome {
  const failures = results.filter(({ failure }) => failure !== '');
  const restored = (by: RunResult['by']): number =>
    most(results.filter((one) => one.by === by).map(({ restoredMs }) => restoredMs ?? 0));
  const owners = [...new Set(results.map(({ flavour }) => flavour))].sort().map((owner) => {
    const own = results.filter(({ flavour }) => flavour === owner);
    return {
      owner,
      runs: own.length,
      failed: own.filter(({ failure }) => failure !== '').length,
      resolvedMsMost: most(own.map(({ resolvedMs }) => resolvedMs)),
    };
  });
  return {
    ...{ seed, runs: results.length, failed: failures.length },
    resolvedMsMost: most(results.map(({ resolvedMs }) => resolvedMs)),
    restoredMsMost: restored('guardian'),
    nextStartMsMost: restored('next start'),
    ...{ owners, failures },
  };
}

/** Runs that found no name have no time; they are counted as failed. */
function most(times: readonly number[]): number {
  return Math.max(0, ...times.filter(Number.isFinite));
}

/** One paragraph for README.md. @param command  as in the result file */
export function killSentence(outcome: KillOutcome, command: string): string {
  const { runs, failed, seed, owners, resolvedMsMost, restoredMsMost, nextStartMsMost } = outcome;
  return (
    `Kill test: ${String(runs)} runs of the built program with the system's resolver in its hands, ` +
    `over ${owners.map(({ owner }) => owner).join(', ')}; app, engine, guardian or all of them ` +
    'killed, stopped or cut from power at every step of taking over and giving back, while ' +
    `running, pausing and updating a list. ${String(failed)} failed. getaddrinfo found names again ` +
    `after at most ${String(resolvedMsMost)} ms; everything was as before after at most ` +
    `${String(restoredMsMost)} ms by the guardian, ${String(nextStartMsMost)} ms by the next start ` +
    `(its own start included), where both had died. Seed ${String(seed)}, \`${command}\`.`
  );
}
