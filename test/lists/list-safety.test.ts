/**
 * Updates that cannot hurt: what a new copy would do to the names in use, quarantine, acceptance and
 * rollback, and a kill at every step of them.
 */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, readdirSync } from 'node:fs';
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { LIMITS } from '../../main/contract/limits.ts';
import type { ListManager } from '../../main/lists/list-manager.ts';
import { tempDir } from '../support/temp-dir.ts';
import { listServer, serve, type ListServer } from './list-server.ts';
import { copyNames, names, open, source } from './managed-lists.ts';

function used(count: number, tag = 'used'): string[] {
  return Array.from({ length: count }, (_, i) => `www.${tag}${i}.example`);
}

function first(manager: ListManager) {
  const [status] = manager.statuses();
  assert.ok(status);
  return status;
}

interface Watched {
  readonly server: ListServer;
  readonly directory: string;
  readonly sources: ReturnType<typeof source>[];
  readonly set: Awaited<ReturnType<typeof open>>;
}

/** One list of 50 names, in use, and a log of the given names. */
async function watched(t: TestContext, logged: readonly string[]): Promise<Watched> {
  const server = await listServer(t);
  const directory = await tempDir(t);
  const sources = [source('A', `${server.origin}/a`)];
  server.answers.set('/a', serve(names(50), 'one'));
  const set = await open(t, directory, sources, { usedNames: () => Promise.resolve(logged) });
  await set.clock.fire();
  assert.equal(first(set.manager).state, 'ok');
  return { server, directory, sources, set };
}

describe('a new copy', () => {
  test('is taken when it blocks few names in use, and says which', async (t) => {
    const logged = [...used(100), 'n3.example', 'n4.example'];
    const { server, set } = await watched(t, logged);
    server.answers.set('/a', serve(names(60).replace('n3.example\n', '') + 'used7.example\n'));
    await set.manager.refresh();
    const { state, change, quarantine, generations } = first(set.manager);
    assert.equal(state, 'ok');
    assert.equal(quarantine, null);
    assert.deepEqual(change?.replay, {
      ...{ names: 102, used: 100, newlyBlocked: 1, newlyAllowed: 1 },
      ...{ blockedExamples: ['www.used7.example'], allowedExamples: ['n3.example'] },
    });
    assert.deepEqual([change.added, change.removed], [11, 1]);
    assert.deepEqual(
      generations.map(({ inUse, names: count }) => [inUse, count]),
      [
        [true, 60],
        [false, 50],
      ],
    );
    assert.ok(set.blocks('www.used7.example'));
  });

  test('waits when it blocks too many, while the old one answers; accept takes it', async (t) => {
    const { server, directory, sources, set } = await watched(t, used(100));
    const harmful = names(50) + used(21).join('\n') + '\n';
    server.answers.set('/a', serve(harmful, 'two'));
    const { manager, told, blocks } = set;
    await manager.refresh();
    const held = first(manager);
    assert.equal(held.state, 'failed');
    assert.equal(held.quarantine?.kind, 'replay');
    assert.ok(held.quarantine.acceptable);
    assert.equal(
      held.error,
      'update refused: it would newly block 21 names you used, ' +
        'for example www.used0.example, www.used1.example, www.used2.example',
    );
    assert.equal(told.tables, 1, 'the first one');
    assert.ok(!blocks('www.used0.example'));
    await manager.refresh();
    assert.equal(server.requests.at(-1)?.headers['if-none-match'], 'two', 'not fetched again');
    assert.equal(first(manager).quarantine?.kind, 'replay');
    await manager.close();

    const again = await open(t, directory, sources, { usedNames: () => Promise.resolve(used(99)) });
    assert.equal(first(again.manager).quarantine?.kind, 'replay', 'a restart keeps it');
    assert.ok(!again.blocks('www.used0.example'));
    await again.manager.accept('A');
    const taken = first(again.manager);
    assert.equal(taken.state, 'ok');
    assert.equal(taken.quarantine, null);
    assert.equal(taken.change?.added, 21);
    assert.equal(taken.change.replay?.newlyBlocked, 21);
    assert.ok(again.blocks('www.used0.example'));
    await assert.rejects(again.manager.accept('A'), { code: 'ARGUMENT_INVALID' });
    await assert.rejects(again.manager.accept('B'), { code: 'LIST_UNKNOWN' });
  });

  test('waits when few names are in use and most would be blocked', async (t) => {
    const { server, set } = await watched(t, used(8));
    server.answers.set('/a', serve(names(50) + used(5).join('\n')));
    await set.manager.refresh();
    assert.equal(first(set.manager).quarantine?.kind, 'replay');
  });

  test('waits when it names what systems look for the internet with', async (t) => {
    const { server, set } = await watched(t, []);
    server.answers.set('/a', serve(`${names(50)}www.msftconnecttest.com\n`));
    await set.manager.refresh();
    assert.match(first(set.manager).error, /www\.msftconnecttest\.com/);
    assert.ok(!set.blocks('www.msftconnecttest.com'));
  });

  test('is no longer wanted when the server takes it back', async (t) => {
    const { server, directory, set } = await watched(t, used(100));
    server.answers.set('/a', serve(names(50) + used(30).join('\n'), 'two'));
    await set.manager.refresh();
    server.answers.set('/a', serve(names(50), 'three'));
    await set.manager.refresh();
    const { state, quarantine } = first(set.manager);
    assert.deepEqual([state, quarantine], ['ok', null]);
    const copies = readdirSync(directory).filter((name) => name.startsWith('copy-'));
    assert.deepEqual(copies, copyNames(directory).slice(0, 1));
  });

  test('is held alone: the other list of the same round is taken', async (t) => {
    const server = await listServer(t);
    const sources = [source('A', `${server.origin}/a`), source('B', `${server.origin}/b`)];
    server.answers.set('/a', serve(names(50, 'a')));
    server.answers.set('/b', serve(names(50, 'b')));
    const usedNames = () => Promise.resolve(used(100));
    const { manager, clock, blocks } = await open(t, await tempDir(t), sources, { usedNames });
    await clock.fire();
    server.answers.set('/a', serve(names(50, 'a') + used(40).join('\n')));
    server.answers.set('/b', serve(names(60, 'b')));
    await manager.refresh();
    assert.deepEqual(
      manager.statuses().map(({ state, quarantine }) => [state, quarantine?.kind]),
      [
        ['failed', 'replay'],
        ['ok', undefined],
      ],
    );
    assert.ok(blocks('b59.example') && !blocks('www.used1.example'));
  });

  test('that lost most names, or is hardly a list, waits too and can be accepted', async (t) => {
    const { server, set } = await watched(t, []);
    server.answers.set('/a', serve(names(10)));
    await set.manager.refresh();
    assert.equal(first(set.manager).quarantine?.kind, 'collapse');
    server.answers.set('/a', serve(names(10) + 'not a name at all\n'.repeat(20)));
    await set.manager.refresh();
    assert.deepEqual(
      [first(set.manager).quarantine?.kind, first(set.manager).names],
      ['parse-rate', 50],
    );
    await set.manager.accept('A');
    assert.deepEqual([first(set.manager).state, first(set.manager).names], ['ok', 10]);
    server.answers.set('/a', serve('<!doctype html><title>Sign in</title>'));
    await set.manager.refresh();
    const { quarantine, names: count } = first(set.manager);
    assert.deepEqual([quarantine?.kind, quarantine?.acceptable, count], ['not-a-list', false, 10]);
    await assert.rejects(set.manager.accept('A'), { code: 'ARGUMENT_INVALID' });
  });

  test('is tried without holding up the thread', async (t) => {
    const many = used(LIMITS.replayNamesMax);
    const { server, set } = await watched(t, many);
    server.answers.set('/a', serve(names(60)));
    let longestMs = 0;
    let lastMs = performance.now();
    const timer = setInterval(() => {
      longestMs = Math.max(longestMs, performance.now() - lastMs);
      lastMs = performance.now();
    }, 1);
    await set.manager.refresh();
    clearInterval(timer);
    assert.equal(first(set.manager).change?.replay?.names, many.length);
    assert.ok(longestMs < 200, `a turn took ${longestMs.toFixed(0)} ms`);
  });
});

describe('rollback', () => {
  test('goes back, stays there until another copy comes, and can be undone', async (t) => {
    const { server, directory, sources, set } = await watched(t, []);
    await assert.rejects(set.manager.rollBack('A'), { code: 'ARGUMENT_INVALID' });
    server.answers.set('/a', serve(names(60), 'two'));
    await set.manager.refresh();
    await set.manager.rollBack('A');
    assert.ok(!set.blocks('n59.example'));
    assert.deepEqual([first(set.manager).names, first(set.manager).rolledBack], [50, true]);
    await set.manager.refresh();
    assert.equal(server.requests.at(-1)?.headers['if-none-match'], 'two');
    assert.equal(first(set.manager).names, 50, 'the copy that was given up is not taken again');
    server.answers.set('/a', serve(names(60), 'other-tag'));
    await set.manager.refresh();
    assert.equal(first(set.manager).names, 50, 'known by its bytes');
    await set.manager.close();

    const again = await open(t, directory, sources);
    assert.ok(!again.blocks('n59.example') && again.blocks('n49.example'));
    await again.manager.rollBack('A');
    assert.deepEqual([first(again.manager).names, first(again.manager).rolledBack], [60, false]);
    await again.manager.rollBack('A');
    server.answers.set('/a', serve(names(70), 'three'));
    await again.manager.refresh();
    const { names: count, rolledBack, generations } = first(again.manager);
    assert.deepEqual([count, rolledBack], [70, false]);
    assert.deepEqual(
      generations.map((copy) => copy.names),
      [70, 50],
    );
  });
});

describe('a kill at any step', () => {
  /** Copies of the directory as it was before each change that the main thread made in it. */
  async function states(t: TestContext, directory: string, work: () => Promise<void>) {
    const place = await tempDir(t);
    const taken: string[] = [];
    const keep = (): void => {
      const to = join(place, String(taken.length));
      mkdirSync(to);
      cpSync(directory, to, { recursive: true });
      taken.push(to);
    };
    const { rename, rm, copyFile } = fs;
    fs.rename = (...values) => (keep(), rename(...values));
    fs.rm = (...values) => (keep(), rm(...values));
    fs.copyFile = (...values) => (keep(), copyFile(...values));
    syncBuiltinESMExports();
    try {
      await work();
    } finally {
      Object.assign(fs, { rename, rm, copyFile });
      syncBuiltinESMExports();
    }
    keep();
    return taken;
  }

  for (const work of ['update', 'quarantine', 'accept', 'rollBack'] as const) {
    test(`of ${work} leaves one whole copy in use and the others at hand`, async (t) => {
      const { server, directory, sources, set } = await watched(t, used(100));
      const { manager } = set;
      const harmful = serve(names(50) + used(30).join('\n') + '\n', 'two');
      if (work === 'accept') {
        server.answers.set('/a', harmful);
        await manager.refresh();
      }
      if (work === 'rollBack') {
        server.answers.set('/a', serve(names(60), 'two'));
        await manager.refresh();
      }
      const seen = await states(t, directory, async () => {
        if (work === 'update') server.answers.set('/a', serve(names(60), 'two'));
        if (work === 'quarantine') server.answers.set('/a', harmful);
        if (work === 'update' || work === 'quarantine') await manager.refresh();
        else await manager[work]('A');
      });
      await manager.close();
      await server.close();
      assert.ok(seen.length > 4, `${seen.length} steps`);
      for (const [step, place] of seen.entries()) {
        const where = `${work}, step ${step} of ${seen.length}`;
        const after = await open(t, place, sources);
        const count = first(after.manager).names;
        assert.equal(after.manager.nameCount, count, where);
        assert.ok([50, 60, 80].includes(count), `${where}: ${count} names`);
        assert.ok(after.blocks('n49.example'), where);
        assert.equal(after.blocks('n59.example'), count === 60, where);
        assert.equal(after.blocks('www.used1.example'), count === 80, where);
        const [copy, older] = first(after.manager).generations;
        assert.equal(copy?.names, count, where);
        if (work === 'rollBack') {
          assert.ok(older, where);
          assert.equal(older.names, count === 50 ? 60 : 50, where);
          await after.manager.rollBack('A');
          assert.equal(first(after.manager).names, older.names, `${where}, rolled back again`);
        }
        const left = readdirSync(place).filter((name) => /\.(tmp|new|swap\.txt)$/.test(name));
        assert.deepEqual(left, [], where);
        await after.manager.close();
      }
    });
  }
});
