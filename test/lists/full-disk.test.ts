/**
 * A disk that is full, or becomes so while a list or the table is written: what is there stays.
 */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { LIMITS } from '../../main/contract/limits.ts';
import type { AskDisk } from '../../main/lists/fetch/disk-space.ts';
import { tempDir } from '../support/temp-dir.ts';
import { listServer, serve } from './list-server.ts';
import { copyNames, names, open, source, type Setup } from './managed-lists.ts';

/** Every write to it fails with ENOSPC. */
const FULL_DEVICE = '/dev/full';
const skip = existsSync(FULL_DEVICE) ? false : `this system has no ${FULL_DEVICE}`;

function errorOf({ manager }: Setup): string {
  return manager.statuses()[0]?.error ?? '';
}

async function inUse(t: TestContext, more?: { askDisk: AskDisk }) {
  const server = await listServer(t);
  const directory = await tempDir(t);
  server.answers.set('/a', serve(names(20)));
  const sources = [source('A', `${server.origin}/a`)];
  const set = await open(t, directory, sources, more);
  await set.clock.fire();
  assert.ok(set.blocks('n19.example'));
  server.answers.set('/a', serve(names(30)));
  return { server, directory, sources, set };
}

describe('before anything is stored', () => {
  test('a disk without room refuses a download and leaves the old list', async (t) => {
    let free = LIMITS.diskReserveBytes * 2;
    const { directory, set } = await inUse(t, {
      askDisk: () => Promise.resolve({ free, total: Infinity }),
    });
    free = LIMITS.diskReserveBytes - 1;
    await set.manager.refresh();
    assert.match(errorOf(set), /no room for the list: 16\.0 MiB free in .*, 16\.\d MiB needed/);
    assert.ok(set.blocks('n19.example'));
    assert.ok(!existsSync(join(directory, 'list-1.new')));
    free = LIMITS.diskReserveBytes * 2;
    await set.manager.refresh();
    assert.equal(errorOf(set), '');
    assert.ok(set.blocks('n29.example'));
  });

  test('of a small disk an eighth stays free', async (t) => {
    const total = LIMITS.diskReserveBytes;
    let free = total / 4;
    const more = { askDisk: () => Promise.resolve({ free, total }) };
    const { set } = await inUse(t, more);
    free = total / 8 - 1;
    await set.manager.refresh();
    assert.match(errorOf(set), /no room for the list: 2\.0 MiB free/);
  });

  test('there must be room for the size that a file has, and its table', async (t) => {
    const directory = await tempDir(t);
    const path = join(directory, 'list.txt');
    writeFileSync(path, names(20_000));
    const needed = LIMITS.diskReserveBytes + names(20_000).length * 3;
    let free = needed - 1;
    const sources = [source('A', pathToFileURL(path).href)];
    const more = { askDisk: () => Promise.resolve({ free, total: Infinity }) };
    const set = await open(t, join(directory, 'lists'), sources, more);
    assert.match(errorOf(set), /no room/);
    free = needed;
    await set.manager.refresh();
    assert.equal(errorOf(set), '');
    assert.ok(set.blocks('n19999.example'));
  });
});

describe('while something is stored', { skip }, () => {
  test('a list that no longer fits is dropped, and the old one stays', async (t) => {
    const { directory, sources, set } = await inUse(t);
    const copy = join(directory, copyNames(directory)[0] ?? '');
    const before = readFileSync(copy);
    symlinkSync(FULL_DEVICE, join(directory, 'list-1.new'));
    await set.manager.refresh();
    assert.match(errorOf(set), /the disk became full/);
    assert.ok(set.blocks('n19.example') && !set.blocks('n29.example'));
    assert.deepEqual(readFileSync(copy), before);
    await set.manager.refresh();
    assert.ok(set.blocks('n29.example'), 'taken when there is room again');
    await set.manager.close();
    const again = await open(t, directory, sources);
    assert.ok(again.blocks('n29.example'));
  });

  test('a table that does not fit is used all the same, and made again at the next start', async (t) => {
    const { directory, sources, set } = await inUse(t);
    const before = readFileSync(join(directory, 'table.bin'));
    symlinkSync(FULL_DEVICE, join(directory, 'table.bin.new'));
    await set.manager.refresh();
    assert.ok(set.blocks('n29.example'));
    assert.match(errorOf(set), /ENOSPC/);
    assert.deepEqual(readFileSync(join(directory, 'table.bin')), before);
    await set.manager.close();
    const again = await open(t, directory, sources);
    assert.ok(again.blocks('n29.example'));
    assert.notDeepEqual(readFileSync(join(directory, 'table.bin')), before);
  });
});

describe('the first start', () => {
  test('on a disk that takes no file at all blocks what is built in, at once', async (t) => {
    // As on a full or read-only disk: the folder is not there, and cannot be made.
    const directory = join(await tempDir(t), 'missing', 'lists');
    const sources = [source('Starter', 'builtin:starter')];
    const set = await open(t, directory, sources);
    assert.ok(set.blocks('doubleclick.net'));
    assert.ok(set.manager.nameCount > 100);
    assert.match(errorOf(set), /could not be saved/);
    await set.manager.refresh();
    assert.ok(set.blocks('doubleclick.net'));
    assert.match(set.manager.ruleText(1, 1), /\S/, 'its lines can be shown');
  });

  test('reads a built-in list where it lies: nothing is copied', async (t) => {
    const directory = await tempDir(t);
    const sources = [source('Starter', 'builtin:starter')];
    const first = await open(t, directory, sources);
    assert.ok(first.blocks('doubleclick.net'));
    await first.manager.close();
    assert.deepEqual(readdirSync(directory).sort(), ['meta.json', 'table.bin']);
    writeFileSync(join(directory, 'table.bin'), '');
    const again = await open(t, directory, sources);
    assert.ok(again.blocks('doubleclick.net'));
  });
});
