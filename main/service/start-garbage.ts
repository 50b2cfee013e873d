/**
 * Gives back the memory that starting took: parsed settings, schemas in the making, list metadata.
 *
 * Called once by headless.ts, a moment after the program is ready. V8 would keep that memory until
 * the main thread has allocated as much again, which on a quiet appliance is never. Takes some ten
 * milliseconds of the main thread, which answers no packets. Measured: 6 MiB of resident memory.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** The collection that V8 runs before it gives up; the only one that returns free pages at once. */
const COLLECTION = { type: 'major', execution: 'sync', flavor: 'last-resort' } as const;

export function collectStartGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  if (typeof collect === 'function') (collect as (how: typeof COLLECTION) => void)(COLLECTION);
}
