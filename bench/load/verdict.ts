/**
 * Judges a redline run: where each path breaks, what was used up there, and whether different
 * paths break at the same rate while the CPU is idle, which points at something they share.
 */

export interface Step {
  readonly path: string;
  /** Queries offered a second; null when the generator sent as fast as answers came. */
  readonly offered: number | null;
  readonly sent: number;
  readonly answered: number;
  readonly qps: number;
  readonly clientP50Us: number;
  readonly clientP99Us: number;
  /** From the program's own histogram. */
  readonly engineP50Us: number;
  readonly engineP99Us: number;
  readonly cpuSeconds: number;
  /** Share of one core taken by the program's busiest thread. */
  readonly busiestThread: number;
  /** Share of all cores in use, the generator's included. */
  readonly machineBusy: number;
  readonly rssBytes: number;
  readonly anonymousBytes: number;
  readonly logDropped: number;
  readonly socketDropped: number;
  readonly pendingDropped: number;
}

export interface Knee {
  readonly path: string;
  /** Answers a second at the last step that held, or the most seen when every step held. */
  readonly qps: number;
  readonly broke: 'nothing' | 'loss' | 'latency' | 'offered rate not reached';
  readonly saturated: string;
}

export const REDLINE = { lossMax: 0.001, p99UsMax: 5_000, offeredMin: 0.95 } as const;

/** Why a step does not hold, or null when it does. */
export function breakOf(step: Step, seconds: number): Exclude<Knee['broke'], 'nothing'> | null {
  if (step.sent - step.answered > step.sent * REDLINE.lossMax) return 'loss';
  if (step.offered !== null && step.sent < step.offered * seconds * REDLINE.offeredMin) {
    return 'offered rate not reached';
  }
  if (step.clientP99Us > REDLINE.p99UsMax && step.offered !== null) return 'latency';
  return null;
}

/** @param steps  of one path, by rising rate */
export function kneeOf(steps: readonly Step[], seconds: number): Knee {
  const first = steps[0];
  if (first === undefined) throw new Error('a path without steps has no knee');
  let held = first;
  for (const step of steps) {
    const broke = breakOf(step, seconds);
    if (broke !== null) {
      return { path: first.path, qps: held.qps, broke, saturated: saturatedResource(step) };
    }
    if (step.qps >= held.qps) held = step;
  }
  return { path: first.path, qps: held.qps, broke: 'nothing', saturated: saturatedResource(held) };
}

/** The first thing that was used up in a step, in plain words. */
export function saturatedResource(step: Step): string {
  if (step.busiestThread >= 0.9) return 'data-plane thread (one core)';
  if (step.machineBusy >= 0.93) return 'CPU of the machine, load generator included';
  if (step.pendingDropped > 0) return 'questions in flight upstream';
  if (step.socketDropped > 0) return 'UDP receive buffer';
  if (step.logDropped > 0) return 'log writer';
  return 'nothing measured here: something that waits, or the generator';
}

/**
 * True when all paths break within 15 % of one rate while no thread of the program is busy: the
 * sign of a shared lock or a slow shared upstream rather than of work.
 */
export function sameCeiling(knees: readonly Knee[], breaking: readonly Step[]): boolean {
  if (knees.length < 2 || knees.some((knee) => knee.broke === 'nothing')) return false;
  const rates = knees.map((knee) => knee.qps);
  const close = Math.max(...rates) <= Math.min(...rates) * 1.15;
  return close && breaking.every((step) => step.busiestThread < 0.6 && step.machineBusy < 0.9);
}
