/**
 * A process of its own for memory.test.ts: compiles a list in the thread, as an update does, and
 * prints what it took, in bytes, as JSON. A tiny list goes first, which takes what the thread takes
 * by itself.
 *
 *     node memory-child.ts DIRECTORY TINY LARGE       TINY, LARGE: files with the hash as their name
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { RuleBuffers } from '../../main/engine/filter/rule-set.ts';
import { compileInThread } from '../../main/lists/compile/compiler.ts';

const [, , directory = '', tiny = '', large = ''] = process.argv;
const snapshotPath = join(directory, 'table.bin');

function status(key: string): number {
  const text = readFileSync('/proc/self/status', 'utf8');
  return Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text)?.[1] ?? NaN) * 1024;
}

async function compile(path: string, inUse: RuleBuffers | null) {
  const sha256 = basename(path);
  const bytes = statSync(path).size;
  globalThis.gc?.();
  writeFileSync('/proc/self/clear_refs', '5'); // VmHWM begins anew
  const before = status('VmRSS');
  const copy = { kind: 'candidate', paths: [path], sha256, bytes, namesBefore: 0 } as const;
  const done = await compileInThread(
    {
      sources: [{ listId: 1, format: 'auto', copies: [copy] }],
      keyInUse: new Uint8Array(32),
      inUse,
      snapshotPath,
    },
    { signal: new AbortController().signal, onProgress: () => undefined },
  );
  if (!done.rules || done.snapshotError !== '') throw new Error(`no table: ${done.snapshotError}`);
  const { rules, results } = done;
  const peak = status('VmHWM') - before;
  return { rules, text: bytes, names: results[0]?.names, table: rules.table.byteLength, peak };
}

await compile(tiny, null); // the first time, code is loaded
const small = await compile(tiny, null);
const { text, table, names, peak } = await compile(large, small.rules);
process.stdout.write(JSON.stringify({ text, table, names, peak: peak - small.peak }));
