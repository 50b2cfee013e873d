/**
 * Thread entry: compiles the lists once, saves the snapshot, posts the table, and ends.
 *
 * Started by compiler.ts when something changed. Answers must not wait for it: on Linux the thread
 * lowers its own priority (there setpriority(2) with 0 means the calling thread; elsewhere it would
 * be the whole process, so it is left alone).
 */
import { readFileSync, statSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import type { RuleBuffers } from '../engine/rule-set.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { compileLists } from './compile.ts';
import { countChanges } from './list-diff.ts';
import type { CompileJob, CompileMessage } from './compiler.ts';
import { inMiB } from './validate.ts';

const NICE = 10;

invariant(parentPort !== null, 'the compile thread has a parent');
const port = parentPort;
const job = workerData as CompileJob;

if (process.platform === 'linux') setPriority(0, NICE);
const { rules, results } = compileLists(job.sources, job.keyInUse, readBounded, onProgress);
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

function readBounded(path: string): Uint8Array {
  const { size } = statSync(path);
  if (size > LIMITS.listBytesMax) {
    throw new Error(`its file is larger than ${inMiB(LIMITS.listBytesMax)}`);
  }
  return readFileSync(path);
}
