/**
 * Thread entry: compiles the lists once, saves the snapshot, posts the table, and ends.
 *
 * Started by compiler.ts when something changed. Answers must not wait for it: on Linux the thread
 * lowers its own priority (there setpriority(2) with 0 means the calling thread; elsewhere it would
 * be the whole process, so it is left alone).
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import type { RuleBuffers } from '../engine/rule-set.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { compileLists } from './compile.ts';
import { countChanges } from './list-diff.ts';
import type { CompileJob, CompileMessage } from './compiler.ts';
import { release } from './release.ts';
import { inMiB } from './validate.ts';

const NICE = 10;

invariant(parentPort !== null, 'the compile thread has a parent');
const port = parentPort;
const job = workerData as CompileJob;
/** Takes each file in turn, so that the thread never has two of them in memory. */
let space = new Uint8Array(0);

if (process.platform === 'linux') setPriority(0, NICE);
const { rules, results } = compileLists(
  ...([job.sources, job.keyInUse, readBounded, onProgress, dropSpace] as const),
);
const changes = rules ? countChanges(job.sources, results, readBounded) : [];
post({ kind: 'done', rules, results, changes, snapshotError: rules ? await save(rules) : '' });

/** Why the snapshot could not be saved; '' when it was. The table is good without it. */
async function save({ table, program }: RuleBuffers): Promise<string> {
  try {
    const parts = program === null ? [table] : [table, program];
    await writeFileAtomic(
      job.snapshotPath,
      parts.map((part) => new Uint8Array(part)),
    );
    return '';
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function onProgress(listId: number, lines: number): void {
  post({ kind: 'progress', listId, lines });
}

function post(message: CompileMessage): void {
  port.postMessage(message);
}

function dropSpace(): void {
  release(space);
  space = new Uint8Array(0);
}

/** The bytes are those of the last file that was read; the next call writes over them. */
function readBounded(path: string): Uint8Array {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    if (size > LIMITS.listBytesMax) {
      throw new Error(`its file is larger than ${inMiB(LIMITS.listBytesMax)}`);
    }
    if (size > space.length) {
      dropSpace();
      space = new Uint8Array(size);
    }
    for (let at = 0; at < size;) {
      const count = readSync(file, space, at, size - at, at);
      if (count === 0) throw new Error('its file became shorter while it was read');
      at += count;
    }
    return space.subarray(0, size);
  } finally {
    closeSync(file);
  }
}
