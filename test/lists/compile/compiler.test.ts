import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { RULE_BLOCK, RuleSet } from '../../../main/engine/filter/rule-set.ts';
import { compileInThread, type CompileJob } from '../../../main/lists/compile/compiler.ts';
import { ListStore } from '../../../main/lists/store.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { rankOf } from '../list-fixtures.ts';

const never = new AbortController().signal;

function jobFor(directory: string, text: string): CompileJob {
  const path = join(directory, 'list.txt');
  writeFileSync(path, text);
  const sha256 = createHash('sha256').update(text).digest('hex');
  const copy = {
    kind: 'current',
    paths: [path],
    sha256,
    bytes: text.length,
    namesBefore: 0,
  } as const;
  return {
    sources: [{ listId: 7, format: 'auto', copies: [copy] }],
    keyInUse: new Uint8Array(32),
    inUse: null,
    snapshotPath: join(directory, 'table.bin'),
  };
}

test('compiles in a thread, tells progress, and saves what it returns', async (t) => {
  const directory = await tempDir(t);
  const text = Array.from({ length: 70_000 }, (_, i) => `n${i}.example\n`).join('');
  const job = jobFor(directory, text);
  const told: unknown[] = [];
  const done = await compileInThread(job, {
    signal: never,
    onProgress: (listId, lines) => told.push([listId, lines]),
  });
  assert.ok(done.rules);
  assert.equal(RuleSet.open(done.rules).nameCount, 70_000);
  assert.deepEqual(told, [[7, 65_536]]);
  assert.equal(done.snapshotError, '');
  assert.ok(readFileSync(job.snapshotPath).equals(new Uint8Array(done.rules.table)));
});

test('a snapshot with patterns and conditions comes back from disk whole, or not at all', async (t) => {
  const directory = await tempDir(t);
  const text = '||a.example^$dnstype=A\n/^ads[0-9]+\\./\n||wild*.example^\n||b.example^\n';
  const job = jobFor(directory, text);
  const done = await compileInThread(job, { signal: never, onProgress: () => undefined });
  assert.ok(done.rules?.program);
  const store = new ListStore(directory, directory);
  const loaded = store.loadSnapshot();
  assert.ok(loaded);
  for (const name of ['x.a.example', 'ads7.example', 'wildest.example', 'b.example']) {
    assert.equal(rankOf(loaded, name), RULE_BLOCK, name);
  }
  assert.equal(rankOf(loaded, 'c.example'), 0);
  const good = readFileSync(job.snapshotPath);
  for (const at of [5, 70, good.length - 3, done.rules.table.byteLength + 9]) {
    const bad = Buffer.from(good);
    bad[at] = (bad[at] as number) ^ 0x20;
    writeFileSync(job.snapshotPath, bad);
    assert.equal(store.loadSnapshot(), null, `byte ${at}`);
  }
  writeFileSync(job.snapshotPath, good.subarray(0, good.length - 8));
  assert.equal(store.loadSnapshot(), null);
});

test('a snapshot that cannot be saved does not cost the table', async (t) => {
  const directory = await tempDir(t);
  const job = {
    ...jobFor(directory, 'a.example\n'),
    snapshotPath: join(directory, 'none', 'table'),
  };
  const done = await compileInThread(job, { signal: never, onProgress: () => undefined });
  assert.match(done.snapshotError, /ENOENT/);
  assert.ok(done.rules);
});

test('a thread that hangs is ended after its time, or when asked', async (t) => {
  const directory = await tempDir(t);
  const job = jobFor(directory, 'a.example\n');
  const path = join(directory, 'hang-thread.mjs');
  writeFileSync(path, 'for (;;);');
  const options = { entry: pathToFileURL(path), onProgress: () => undefined };
  await assert.rejects(compileInThread(job, { ...options, signal: never, timeMs: 200 }), {
    code: 'INTERNAL',
    message: 'lists could not be compiled: it took longer than 0.2 s',
  });
  const stop = new AbortController();
  const result = compileInThread(job, { ...options, signal: stop.signal });
  stop.abort();
  await assert.rejects(result, { message: /it was stopped/ });
});
