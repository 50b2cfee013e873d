/**
 * What the kill test does in one run: which victim, in which way, at which moment. Drawn from a
 * seed, so that a failed run can be had again.
 */

/** Steps of the takeover at which the app is stopped, as takeover.ts names them. */
export const TAKEOVER_STEPS = [
  ...['owner', 'capture', 'journal', 'guardian', 'apply', 'apply ', 'read back', 'probe'],
] as const;
/** Steps of giving back. */
export const RESTORE_STEPS = ['write', 'settle'] as const;

export const MOMENTS = [
  ...TAKEOVER_STEPS.map((step) => `taking:${step}`),
  'running',
  'running busy',
  'pausing',
  'updating a list',
  ...RESTORE_STEPS.map((step) => `giving:${step}`),
] as const;
export type Moment = (typeof MOMENTS)[number];

export const VICTIMS = [
  'app killed',
  'app stopped',
  'app stopped, woken later',
  'engine ended',
  'engine hung',
  'guardian killed',
  'guardian stopped',
  'both killed',
  'power cut',
] as const;
export type Victim = (typeof VICTIMS)[number];

export interface Run {
  readonly victim: Victim;
  readonly moment: Moment;
}

/** A small generator of random numbers, good enough to choose with. Source: mulberry32. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Every pair of victim and moment in a random order, again and again, until there are `count`. */
export function drawRuns(seed: number, count: number): Run[] {
  const random = randomFrom(seed);
  const all = VICTIMS.flatMap((victim) => MOMENTS.map((moment): Run => ({ victim, moment })));
  const runs: Run[] = [];
  while (runs.length < count) {
    const left = [...all];
    while (left.length > 0 && runs.length < count) {
      runs.push(...left.splice(Math.floor(random() * left.length), 1));
    }
  }
  return runs;
}
