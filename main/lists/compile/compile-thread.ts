/**
 * Thread entry: compiles the lists once, saves the snapshot, posts the table, and ends.
 *
 * Started by compiler.ts when something changed. Answers must not wait for it: on Linux the thread
 * lowers its own priority (there setpriority(2) with 0 means the calling thread; elsewhere it would
 * be the whole process, so it is left alone).
 *
 * The table goes into its file in parts, what it was made of is given back, and only then it is read
 * into memory: the two are never there together, unless the file cannot be written.
 */
import { closeSync, fsyncSync, openSync, rmSync, writeSync } from 'node:fs';
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../../contract/errors.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import { compileLists } from './compile.ts';
import type { CompileJob, CompileMessage } from './compiler.ts';
import { countChanges, listsToCount } from './list-diff.ts';
import { openTextFile } from './list-text.ts';
import type { RuleSetBuilder } from './rule-set-builder.ts';
import { readSnapshot } from './snapshot-file.ts';

const NICE = 10;

invariant(parentPort !== null, 'the compile thread has a parent');
const port = parentPort;
const job = workerData as CompileJob;
let snapshotError = '';

if (process.platform === 'linux') setPriority(0, NICE);
const { sources, inUse } = job;
const { rules, results } = compileLists(sources, job.keyInUse, openTextFile, onProgress, makeRules);
const counted = listsToCount(sources, results);
const changes = rules && inUse ? countChanges(inUse, rules, counted) : [];
post({ kind: 'done', rules, results, changes, snapshotError });

/** By way of the file; in memory alone when that cannot be written: the table is good without it. */
function makeRules(builder: RuleSetBuilder, key: Uint8Array): RuleBuffers {
  try {
    save(builder, key);
  } catch (error) {
    snapshotError = error instanceof Error ? error.message : String(error);
    rmSync(job.snapshotPath, { force: true });
    return builder.finish(key);
  }
  builder.clear();
  return readSnapshot(job.snapshotPath);
}

/** Whether the file counts, the main thread decides; a crash before that leaves no trace. */
function save(builder: RuleSetBuilder, key: Uint8Array): void {
  const file = openSync(job.snapshotPath, 'w', 0o600);
  try {
    builder.write((bytes, at) => {
      for (let done = 0; done < bytes.length;) {
        done += writeSync(file, bytes, done, bytes.length - done, at + done);
      }
    }, key);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

function onProgress(listId: number, lines: number): void {
  post({ kind: 'progress', listId, lines });
}

function post(message: CompileMessage): void {
  port.postMessage(message);
}
