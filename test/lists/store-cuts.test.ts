/**
 * The list directory after cuts at every file operation, twice in a row: the list is there, from
 * its stored copy alone (main/lists/store.ts). Cut means: from one operation on, nothing reaches the
 * disk any more, as after SIGKILL.
 */
import assert from 'node:assert/strict';
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import fsp, { type FileHandle } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { readMeta } from '../../main/lists/meta.ts';
import { tempDir } from '../support/temp-dir.ts';
import { listServer, serve } from './list-server.ts';
import { copyNames, names, open, source } from './managed-lists.ts';

/** Operations that are still let through; the next one and all after it fail. */
let left = Infinity;
let seen = 0;

function step(): void {
  seen++;
  if (left-- <= 0) throw new Error('cut');
}

const real = { ...fsp };
for (const name of ['rename', 'rm', 'mkdir', 'chmod', 'link', 'copyFile', 'writeFile'] as const) {
  const call = real[name] as (...args: unknown[]) => Promise<unknown>;
  Object.assign(fsp, {
    [name]: async (...args: unknown[]) => {
      step();
      return call(...args);
    },
  });
}
Object.assign(fsp, {
  open: async (...args: Parameters<typeof real.open>) => {
    const reads = args[1] === undefined || args[1] === 'r' || args[1] === 0;
    if (!reads) step();
    const file = await real.open(...args);
    if (!reads) cutWrites(file);
    return file;
  },
});
syncBuiltinESMExports();

function cutWrites(file: FileHandle): void {
  for (const name of ['writeFile', 'write', 'sync'] as const) {
    const call = (file[name] as (...args: unknown[]) => Promise<unknown>).bind(file);
    Object.assign(file, {
      [name]: async (...args: unknown[]) => {
        step();
        return call(...args);
      },
    });
  }
}

test('a cut at any operation, and one more at the next start: no list is lost', async (t) => {
  const base = await tempDir(t);
  const text = join(await tempDir(t), 'list.txt');
  const sources = [source('A', pathToFileURL(text).href)];
  const write = (tag: string): void => {
    writeFileSync(text, names(50, tag));
  };
  write('one');
  await (await open(t, base, sources)).manager.close();
  for (let at = 0, isCut = true; isCut; at++) {
    for (const second of at % 2 === 0 ? [at] : [0, at + 3]) {
      const place = await tempDir(t);
      cpSync(base, place, { recursive: true });
      write('two');
      [left, seen] = [at, 0];
      await runOnce(place);
      isCut = seen > at;
      write('three');
      left = second;
      await runOnce(place);
      left = Infinity;
      rmSync(text); // what is not stored by now is lost
      writeFileSync(join(place, 'table.bin'), '');
      const { manager, blocks } = await open(t, place, sources);
      const found = ['one', 'two', 'three'].filter((tag) => blocks(`${tag}49.example`));
      const what = `cut at ${String(at)}, then at ${String(second)}`;
      assert.equal(found.length, 1, `${what}: ${found.join()}`);
      assert.equal(manager.nameCount, 50, what);
      await manager.close();
      const stray = readdirSync(place).filter((name) => /\.(tmp|new)$/.test(name));
      assert.deepEqual(stray, [], what);
      const copies = readdirSync(place).filter((name) => name.startsWith('copy-'));
      assert.deepEqual(copies.sort(), copyNames(place).sort(), `${what}: no orphans`);
    }
  }

  async function runOnce(place: string): Promise<void> {
    const { manager } = await open(t, place, sources);
    await manager.refresh();
    await manager.close();
  }
});

test('with no usable copy the compiled table stays, until the list is there again', async (t) => {
  const directory = await tempDir(t);
  const server = await listServer(t);
  server.answers.set('/a', serve(names(50, 'a'), '"a"'));
  server.answers.set('/b', serve(names(50, 'b')));
  const [a, b] = [source('A', `${server.origin}/a`), source('B', `${server.origin}/b`)];
  const first = await open(t, directory, [a]);
  await first.clock.fire();
  assert.ok(first.blocks('a1.example'));
  await first.manager.close();
  truncateSync(join(directory, copyNames(directory)[0] ?? ''), 10);
  const asked = server.answers.get('/a');
  server.answers.delete('/a');
  // Another list makes the table anew, which list A cannot be part of.
  const { manager, blocks } = await open(t, directory, [a, b]);
  await manager.refresh();
  assert.ok(blocks('a1.example') && !blocks('b1.example'));
  assert.match(manager.statuses()[0]?.error ?? '', /HTTP|status|lost/);
  await manager.close();
  // Also over a restart.
  const again = await open(t, directory, [a, b]);
  await again.manager.refresh();
  assert.ok(again.blocks('a1.example'));
  if (asked) server.answers.set('/a', asked);
  await again.manager.refresh();
  assert.ok(again.blocks('a1.example') && again.blocks('b1.example'));
  assert.deepEqual(
    again.manager.statuses().map(({ state }) => state),
    ['ok', 'ok'],
  );
});

test('without any meta file the compiled table stays until the lists are fetched', async (t) => {
  const directory = await tempDir(t);
  const server = await listServer(t);
  server.answers.set('/a', serve(names(50, 'a')));
  const sources = [source('Starter', 'builtin:starter'), source('A', `${server.origin}/a`)];
  const first = await open(t, directory, sources);
  await first.clock.fire();
  await first.manager.close();
  for (const name of ['meta.json', 'meta.previous.json']) writeFileSync(join(directory, name), '{');
  server.answers.delete('/a');
  const { manager, blocks, clock } = await open(t, directory, sources);
  await clock.idle();
  assert.ok(blocks('a1.example') && blocks('doubleclick.net'));
  server.answers.set('/a', serve(names(60, 'a')));
  await manager.refresh();
  assert.ok(blocks('a59.example') && blocks('doubleclick.net'));
});

test('the files of an older version are taken over, all of them', async (t) => {
  const directory = await tempDir(t);
  const server = await listServer(t);
  const sources = [source('A', `${server.origin}/a`)];
  server.answers.set('/a', serve(names(50, 'one')));
  const first = await open(t, directory, sources);
  await first.clock.fire();
  server.answers.set('/a', serve(names(50, 'two')));
  await first.manager.refresh();
  await first.manager.close();
  const [current = '', previous = ''] = copyNames(directory);
  const { renameSync } = await import('node:fs');
  renameSync(join(directory, current), join(directory, 'list-1.txt'));
  renameSync(join(directory, previous), join(directory, 'list-1.previous.txt'));
  const { createHash } = await import('node:crypto');
  const lists = readMeta(readFileSync(join(directory, 'meta.json')));
  const sha256 = createHash('sha256').update(JSON.stringify(lists)).digest('hex');
  writeFileSync(join(directory, 'meta.json'), JSON.stringify({ version: 1, sha256, lists }));
  rmSync(join(directory, 'meta.previous.json'));
  writeFileSync(join(directory, 'table.bin'), '');
  await server.close();
  const { manager, blocks } = await open(t, directory, sources);
  assert.ok(blocks('two1.example'));
  await manager.rollBack('A');
  assert.ok(blocks('one1.example'));
});

test('80 flipped bits in each file: never other rules than one of the versions', async (t) => {
  const directory = await tempDir(t);
  const text = join(await tempDir(t), 'list.txt');
  const sources = [source('A', pathToFileURL(text).href)];
  for (const tag of ['one', 'two']) {
    writeFileSync(text, names(50, tag));
    await (await open(t, directory, sources)).manager.refresh();
  }
  rmSync(text);
  const good = new Map(
    readdirSync(directory).map((name) => [name, readFileSync(join(directory, name))]),
  );
  for (const [name, bytes] of good) {
    // A copy is read only when the table is made: a few bits of it are enough.
    const rounds = name === 'meta.json' || name === 'table.bin' ? 80 : 8;
    for (let round = 0; round < rounds; round++) {
      for (const [other, content] of good) writeFileSync(join(directory, other), content);
      const bit = Math.floor(((round + 0.5) / rounds) * bytes.length * 8);
      const flipped = Buffer.from(bytes);
      flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      writeFileSync(join(directory, name), flipped);
      const { manager, blocks } = await open(t, directory, sources);
      const found = ['one', 'two'].filter((tag) => blocks(`${tag}49.example`));
      assert.equal(found.length, 1, `${name} bit ${String(bit)}`);
      assert.equal(manager.nameCount, 50, `${name} bit ${String(bit)}`);
      await manager.close();
    }
  }
});
