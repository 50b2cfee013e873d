/**
 * Stops takeover and restore before a chosen step, so that the kill test (bench/kill) can strike
 * exactly there. Off in an installed program, and unless SLUICE_HOLD_DIR names a folder, which nothing
 * but that test sets. Called by app/system-dns.ts in the main thread.
 *
 * The test writes the beginning of a step's name into the file `hold` of that folder. Before the
 * first step that begins so, the file `held` appears with the step's name, and nothing goes on until
 * `hold` is removed.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { developmentVariable } from '../../contract/installed.ts';

const LOOK_EVERY_MS = 10;

export type OnStep = (step: string) => void | Promise<void>;

/** @returns undefined in every run but a test's */
export function holdPoint(folder = developmentVariable('SLUICE_HOLD_DIR')): OnStep | undefined {
  if (folder === undefined) return undefined;
  return async (step) => {
    const wanted = read(join(folder, 'hold'));
    if (wanted === null || !step.startsWith(wanted)) return;
    writeFileSync(join(folder, 'held'), step);
    while (read(join(folder, 'hold')) !== null) await delay(LOOK_EVERY_MS);
  };
}

function read(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // Not there: nothing is to be held.
    return null;
  }
}
