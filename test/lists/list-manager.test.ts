import assert from 'node:assert/strict';
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { ListSource } from '../../main/contract/config.ts';
import { RuleSet } from '../../main/engine/filter/rule-set.ts';
import { tempDir } from '../support/temp-dir.ts';
import { rankOf } from './list-fixtures.ts';
import { listServer, serve } from './list-server.ts';
import { copyNames, names, open, source } from './managed-lists.ts';

const HOUR = 3_600_000;

describe('start', () => {
  test('has the built-in list before any network', async (t) => {
    const directory = await tempDir(t);
    const { manager, blocks, told } = await open(t, directory, [
      source('Starter', 'builtin:starter'),
      source('Far', 'http://127.0.0.1:1/list'),
    ]);
    assert.ok(blocks('ad.doubleclick.net'));
    assert.equal(told.tables, 0, 'nothing is told before open has resolved');
    const [starter, far] = manager.statuses();
    assert.equal(starter?.state, 'ok');
    assert.equal(starter.format, 'adblock');
    assert.equal(starter.names, manager.nameCount);
    assert.notEqual(far?.state, 'ok');
    assert.deepEqual(
      [...manager.listNames],
      [
        [1, 'Starter'],
        [2, 'Far'],
      ],
    );
  });

  test('from the snapshot alone, with all servers down and no copies', async (t) => {
    const directory = await tempDir(t);
    const server = await listServer(t);
    server.answers.set('/a', serve(names(50), '"1"'));
    const sources = [source('A', `${server.origin}/a`)];
    const first = await open(t, directory, sources);
    await first.clock.fire();
    assert.ok(first.blocks('x.n7.example'));
    await first.manager.close();
    await server.close();
    const second = await open(t, directory, sources);
    assert.ok(second.blocks('x.n7.example'));
    assert.equal(second.manager.nameCount, 50);
    assert.equal(second.manager.statuses()[0]?.names, 50);
    assert.deepEqual([...second.manager.listNames], [[1, 'A']]);
  });

  test('from the copies when the snapshot is damaged in any way', async (t) => {
    const directory = await tempDir(t);
    const server = await listServer(t);
    server.answers.set('/a', serve(names(50)));
    const sources = [source('A', `${server.origin}/a`)];
    const first = await open(t, directory, sources);
    await first.clock.fire();
    await first.manager.close();
    await server.close();
    const path = join(directory, 'table.bin');
    const good = readFileSync(path);
    for (const bad of [
      good.subarray(0, 40),
      good.subarray(0, -8),
      Buffer.alloc(0),
      flipped(good),
    ]) {
      writeFileSync(path, bad);
      const again = await open(t, directory, sources);
      assert.ok(again.blocks('n49.example'));
      await again.manager.close();
      assert.deepEqual(readFileSync(path), good, 'the snapshot is made anew, the same');
    }
  });

  test('a new version of the built-in list replaces the old one', async (t) => {
    const directory = await tempDir(t);
    const builtinDirectory = await tempDir(t);
    const path = join(builtinDirectory, 'starter.txt');
    const sources = [source('Starter', 'builtin:starter')];
    writeFileSync(path, '||a.example^\n');
    const first = await open(t, directory, sources, { builtinDirectory });
    assert.ok(first.blocks('a.example'));
    await first.manager.close();
    writeFileSync(path, '||b.example^\n');
    const second = await open(t, directory, sources, { builtinDirectory });
    assert.ok(second.blocks('a.example'), 'the snapshot is there at once');
    await second.clock.fire();
    assert.deepEqual([second.blocks('a.example'), second.blocks('b.example')], [false, true]);
    assert.equal(second.told.tables, 1);
  });
});

function flipped(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes);
  const at = copy.length >> 1;
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
}

describe('refresh', () => {
  test('every six hours with jitter, conditionally; unchanged means no new table', async (t) => {
    const server = await listServer(t);
    server.answers.set('/a', serve(names(20), '"1"'));
    const sources = [source('A', `${server.origin}/a`)];
    const { manager, clock, told, blocks } = await open(t, await tempDir(t), sources);
    await clock.fire();
    assert.deepEqual([server.requests.length, told.tables, blocks('n1.example')], [1, 1, true]);
    const { table } = manager;
    assert.equal(clock.timer?.ms, 6 * HOUR);
    await clock.fire();
    assert.equal(server.requests[1]?.headers['if-none-match'], '"1"');
    assert.equal(manager.table, table);
    assert.equal(told.tables, 1);
    assert.equal(manager.statuses()[0]?.checkedAtMs, clock.nowMs);
    assert.equal(manager.statuses()[0]?.updatedAtMs, clock.nowMs - 6 * HOUR);
    server.answers.set('/a', serve(names(20, 'm'), '"2"'));
    await clock.fire();
    assert.deepEqual([blocks('n1.example'), blocks('m1.example')], [false, true]);
    assert.equal(told.tables, 2);
    server.answers.set('/a', serve(names(20, 'm'), '"3"'));
    await manager.refresh();
    assert.equal(told.tables, 2, 'the same text under another ETag is no change');
    await manager.refresh();
    assert.equal(server.requests.at(-1)?.headers['if-none-match'], '"3"');
  });

  test('backs off after failures, keeps the old copy, and recovers', async (t) => {
    const server = await listServer(t);
    server.answers.set('/a', serve(names(20)));
    const sources = [source('A', `${server.origin}/a`)];
    const { manager, clock, blocks, told } = await open(t, await tempDir(t), sources);
    await clock.fire();
    server.answers.delete('/a');
    await clock.fire();
    const delays: number[] = [];
    for (let round = 0; round < 10; round++) {
      delays.push((clock.timer?.ms ?? 0) / 60_000);
      await clock.fire();
    }
    assert.deepEqual(delays, [1, 2, 4, 8, 16, 32, 64, 128, 256, 360], 'minutes');
    assert.equal(manager.statuses()[0]?.state, 'failed');
    assert.match(manager.statuses()[0]?.error ?? '', /status 404/);
    assert.equal(manager.statuses()[0]?.names, 20);
    assert.ok(blocks('n1.example'));
    assert.equal(told.tables, 1);
    server.answers.set('/a', serve(names(21)));
    await clock.fire();
    assert.equal(manager.statuses()[0]?.state, 'ok');
    assert.equal(manager.statuses()[0]?.error, '');
    assert.equal(clock.timer?.ms, 6 * HOUR);
    await server.close();
    await manager.refresh('A');
    assert.match(manager.statuses()[0]?.error ?? '', /ECONNREFUSED/);
    assert.ok(blocks('n20.example'));
  });

  test('takes gzip, and refuses absurd updates with the reason', async (t) => {
    const server = await listServer(t);
    const answer = (body: string | Uint8Array, headers: Record<string, string> = {}): void => {
      server.answers.set('/a', (_, response) => response.writeHead(200, headers).end(body));
    };
    answer(gzipSync(names(100)), { 'content-encoding': 'gzip' });
    const directory = await tempDir(t);
    const sources = [source('A', `${server.origin}/a`)];
    const { manager, clock, blocks, told } = await open(t, directory, sources);
    await clock.fire();
    assert.ok(blocks('n99.example'));
    const bomb = gzipSync(Buffer.alloc(65 * 1024 * 1024, 0x61), { level: 1 });
    const cases: [string | Uint8Array, Record<string, string>, RegExp][] = [
      ['<!DOCTYPE html><html>Sign in</html>', { 'content-type': 'text/html' }, /HTML/],
      ['', {}, /empty/],
      ['# only a comment\n', {}, /no rules/],
      [Uint8Array.from({ length: 999 }, (_, i) => i % 256), {}, /binary/],
      [names(49), {}, /fell from 100 to 49/],
      [bomb, { 'content-encoding': 'gzip' }, /larger than 64 MiB/],
      [names(100), { 'content-type': 'image/png' }, /image\/png/],
      [gzipSync(names(100)).subarray(0, 99), { 'content-encoding': 'gzip' }, /truncated/],
    ];
    for (const [body, headers, reason] of cases) {
      answer(body, headers);
      await manager.refresh();
      const [status] = manager.statuses();
      assert.equal(status?.state, 'failed', String(reason));
      assert.match(status.error, reason);
      assert.equal(status.names, 100);
      assert.ok(blocks('n99.example'));
    }
    server.answers.set('/a', (_, response) => {
      response.writeHead(200, { 'content-length': 5_000 });
      response.write(names(100), () => response.destroy());
    });
    await manager.refresh();
    assert.match(manager.statuses()[0]?.error ?? '', /truncated/);
    server.answers.set('/a', (_, response) => response.writeHead(302, { location: '/a' }).end());
    await manager.refresh();
    assert.match(manager.statuses()[0]?.error ?? '', /redirects/);
    assert.equal(told.tables, 1, 'no refused update makes a new table');
    assert.deepEqual(
      readdirSync(directory).filter((name) => name.endsWith('.new')),
      [],
    );
  });

  test('knows its lists: unknown and disabled ones are errors', async (t) => {
    const sources = [source('Off', 'http://127.0.0.1:1/', { enabled: false })];
    const { manager } = await open(t, await tempDir(t), sources);
    await assert.rejects(manager.refresh('None'), { code: 'LIST_UNKNOWN' });
    await assert.rejects(manager.refresh('Off'), { code: 'ARGUMENT_INVALID' });
    await manager.refresh();
    assert.equal(manager.statuses()[0]?.state, 'disabled');
    assert.equal(manager.statuses()[0]?.checkedAtMs, null);
  });

  test('a compile thread that crashes, ends or runs out of memory leaves the old table', async (t) => {
    const directory = await tempDir(t);
    const server = await listServer(t);
    server.answers.set('/a', serve(names(20)));
    const sources = [source('A', `${server.origin}/a`)];
    const first = await open(t, directory, sources);
    await first.clock.fire();
    await first.manager.close();
    server.answers.set('/a', serve(names(30)));
    for (const [code, reason] of [
      ['throw new Error("broken")', /broken/],
      ['process.exit(3)', /ended without a result/],
      ['const all = []; for (;;) all.push(new Array(1e5).fill({}));', /memory/],
    ] as const) {
      const entry = join(directory, 'crash-thread.mjs');
      writeFileSync(entry, code);
      const compileEntry = new URL(`${pathToFileURL(entry).href}?${String(reason)}`);
      const { manager, blocks, told } = await open(t, directory, sources, { compileEntry });
      await manager.refresh();
      assert.match(manager.statuses()[0]?.error ?? '', /could not be compiled/);
      assert.match(manager.statuses()[0]?.error ?? '', reason);
      assert.ok(blocks('n19.example'));
      assert.equal(told.tables, 0);
      await manager.close();
    }
    const last = await open(t, directory, sources);
    await last.manager.refresh();
    assert.ok(last.blocks('n29.example'));
  });
});

describe('settings', () => {
  test('added lists are fetched at once, removed ones vanish, order decides attribution', async (t) => {
    const directory = await tempDir(t);
    const server = await listServer(t);
    server.answers.set('/a', serve('shared.example\na.example\n'));
    server.answers.set('/b', serve('shared.example\nb.example\n'));
    const a = source('A', `${server.origin}/a`);
    const b = source('B', `${server.origin}/b`);
    const { manager, clock, blocks } = await open(t, directory, [a]);
    await clock.fire();
    const attribution = (): number => {
      const table = RuleSet.open(manager.table);
      rankOf(table, 'shared.example');
      return table.listId;
    };
    const apply = async (sources: readonly ListSource[]): Promise<void> => {
      clock.timer = null;
      manager.setSources(sources, 6);
      if (sources.length > 0) await clock.idle();
      else await manager.refresh();
    };
    await apply([a, b]);
    assert.ok(blocks('b.example'));
    assert.equal(server.requests.length, 2, 'only the new list is fetched');
    assert.equal(attribution(), 1);
    await apply([b, a]);
    assert.equal(attribution(), 2);
    assert.equal(server.requests.length, 2, 'a new order needs no network');
    await apply([b, { ...a, enabled: false }]);
    assert.deepEqual([blocks('a.example'), blocks('b.example')], [false, true]);
    assert.equal(manager.statuses()[1]?.names, 0);
    await apply([{ ...b, name: 'Renamed' }]);
    assert.deepEqual(
      [...manager.listNames],
      [
        [2, 'Renamed'],
        [1, 'A'],
      ],
    );
    assert.equal(readdirSync(directory).filter((name) => name.startsWith('copy-')).length, 1);
    await apply([]);
    assert.equal(manager.nameCount, 0);
    await apply([source('C', `${server.origin}/a`), a]);
    assert.equal(manager.listNames.get(1), 'A', 'a list that comes back has its id again');
    assert.equal(manager.listNames.get(3), 'C');
    assert.equal(manager.nameCount, 2);
  });

  test('ids and copies survive a restart with changed settings', async (t) => {
    const directory = await tempDir(t);
    const server = await listServer(t);
    for (const path of ['/a', '/b', '/c']) server.answers.set(path, serve(names(20, path[1])));
    const [a, b, c] = ['a', 'b', 'c'].map((tag) => source(tag, `${server.origin}/${tag}`)) as [
      ListSource,
      ListSource,
      ListSource,
    ];
    const first = await open(t, directory, [a, b]);
    await first.clock.fire();
    await first.manager.close();
    const second = await open(t, directory, [c, b]);
    assert.ok(second.blocks('b1.example'), 'from its copy, before any network');
    assert.equal(second.blocks('a1.example'), false);
    await second.clock.fire();
    assert.ok(second.blocks('c1.example'));
    assert.deepEqual(
      new Map(second.manager.listNames),
      new Map([
        [3, 'c'],
        [2, 'b'],
        [1, 'a'],
      ]),
    );
  });

  test('another URL is fetched at once; the old copy serves until it is there', async (t) => {
    const server = await listServer(t);
    server.answers.set('/a', serve(names(100)));
    server.answers.set('/other', serve(names(2, 'o')));
    const { manager, clock, blocks } = await open(t, await tempDir(t), [
      source('A', `${server.origin}/a`),
    ]);
    await clock.fire();
    clock.timer = null;
    manager.setSources([source('A', `${server.origin}/down`)], 6);
    await clock.idle();
    assert.equal(manager.statuses()[0]?.state, 'failed');
    assert.ok(blocks('n1.example'));
    clock.timer = null;
    manager.setSources([source('A', `${server.origin}/other`)], 6);
    await clock.idle();
    assert.deepEqual([blocks('n1.example'), blocks('o1.example')], [false, true]);
    assert.equal(manager.statuses()[0]?.state, 'ok', 'two names are no collapse of another list');
  });

  test('files: changes are taken, directories refused, a vanished file keeps its copy', async (t) => {
    const directory = await tempDir(t);
    const own = await tempDir(t);
    const path = join(own, 'list.txt');
    writeFileSync(path, '0.0.0.0 a.example b.example\n');
    const sources = [
      source('File', pathToFileURL(path).href),
      source('Folder', pathToFileURL(own).href),
    ];
    const { manager, blocks, told } = await open(t, directory, sources);
    assert.ok(blocks('b.example'), 'files are read before open resolves');
    await manager.refresh();
    assert.equal(told.tables, 0);
    assert.match(manager.statuses()[1]?.error ?? '', /not a regular file/);
    writeFileSync(path, '0.0.0.0 c.example\n0.0.0.0 d.example\n');
    await manager.refresh('File');
    assert.deepEqual([blocks('a.example'), blocks('c.example')], [false, true]);
    writeFileSync(path, '');
    await manager.refresh('File');
    assert.match(manager.statuses()[0]?.error ?? '', /empty/);
    rmSync(path);
    await manager.refresh('File');
    assert.match(manager.statuses()[0]?.error ?? '', /ENOENT/);
    assert.ok(blocks('c.example'));
  });

  test('shows the source line of an entry, and what was ignored', async (t) => {
    const directory = await tempDir(t);
    const path = join(directory, 'own.txt');
    const text = `# title\r\n${'x.example\n'.repeat(20_000)}0.0.0.0 a.example # why\r\nb/c\n`;
    writeFileSync(path, text);
    const { manager } = await open(t, join(directory, 'lists'), [
      source('File', pathToFileURL(path).href, { format: 'hosts' }),
    ]);
    assert.equal(manager.ruleText(1, 20_002), '0.0.0.0 a.example # why');
    assert.equal(manager.ruleText(1, 1), '# title');
    assert.equal(manager.ruleText(1, 20_004), '');
    assert.equal(manager.ruleText(9, 1), '');
    const [status] = manager.statuses();
    assert.deepEqual(status?.ignored, [
      {
        reason: 'rule for a path, port or URL: DNS sees only names',
        lines: 1,
        examples: ['b/c'],
      },
    ]);
    assert.equal(status.names, 2);
    const { lines, rules, comments } = status;
    assert.deepEqual({ lines, rules, comments }, { lines: 20_003, rules: 20_001, comments: 1 });
  });

  test('close ends a download in progress and is idempotent', async (t) => {
    const server = await listServer(t);
    const asked = new Promise<void>((resolve) => {
      server.answers.set('/a', (_, response) => {
        response.writeHead(200).write('a.example\n');
        resolve();
      });
    });
    const { manager } = await open(t, await tempDir(t), [source('A', `${server.origin}/a`)], {
      clock: {
        wallMs: () => Date.now(),
        after: (_, call) => (setImmediate(call), () => undefined),
      },
    });
    await asked;
    await manager.close();
    await manager.close();
    await manager.refresh();
    assert.equal(manager.statuses()[0]?.error, '');
  });
});

test('a clock that ran ten years ahead for a while stops no refresh', async (t) => {
  const server = await listServer(t);
  server.answers.set('/a', serve(names(20)));
  const { clock } = await open(t, await tempDir(t), [source('A', `${server.origin}/a`)]);
  const yearsMs = 3_660 * 86_400_000;
  clock.nowMs += yearsMs;
  await clock.fire();
  const before = server.requests.length;
  clock.nowMs -= yearsMs;
  // The real timer wakes within the hour whatever it waits for.
  const { timer } = clock;
  assert.ok(timer);
  clock.timer = null;
  timer.call();
  await clock.idle();
  assert.equal(server.requests.length, before + 1);
});

describe('damage', () => {
  test('a truncated or missing file at any place is recovered from what is left', async (t) => {
    const directory = await tempDir(t);
    const server = await listServer(t);
    const sources = [source('A', `${server.origin}/a`)];
    server.answers.set('/a', serve(names(50, 'old')));
    const first = await open(t, directory, sources);
    await first.clock.fire();
    server.answers.set('/a', serve(names(60, 'new')));
    await first.manager.refresh();
    await first.manager.close();
    const copies = copyNames(directory);
    assert.equal(copies.length, 2);
    const all = [...copies, 'meta.json', 'meta.previous.json', 'table.bin'];
    const good = new Map(all.map((name) => [name, readFileSync(join(directory, name))]));
    const restore = (): void => {
      for (const [name, bytes] of good) writeFileSync(join(directory, name), bytes);
    };
    await server.close();
    // Any one file cut anywhere, with or without the snapshot that would hide it.
    for (const name of all) {
      for (const part of [0, 0.3, 0.9]) {
        for (const withSnapshot of [true, false]) {
          restore();
          truncateSync(join(directory, name), Math.floor((good.get(name)?.length ?? 0) * part));
          if (!withSnapshot) truncateSync(join(directory, 'table.bin'), 10);
          const { manager, blocks } = await open(t, directory, sources);
          const what = `${name} at ${part}, ${withSnapshot ? 'with' : 'without'} snapshot`;
          const [isNew, isOld] = [blocks('new1.example'), blocks('old1.example')];
          assert.ok(isNew !== isOld, what);
          if (name === copies[0] && !withSnapshot) {
            assert.ok(isOld, what);
            assert.match(manager.statuses()[0]?.error ?? '', /damaged/);
          }
          assert.deepEqual([...manager.listNames], [[1, 'A']], what);
          await manager.close();
        }
      }
    }
  });

  test('a damaged copy is fetched again as a whole, not answered with 304', async (t) => {
    const directory = await tempDir(t);
    const server = await listServer(t);
    const sources = [source('A', `${server.origin}/a`)];
    server.answers.set('/a', serve(names(50), '"1"'));
    const first = await open(t, directory, sources);
    await first.clock.fire();
    await first.manager.close();
    truncateSync(join(directory, copyNames(directory)[0] ?? ''), 10);
    truncateSync(join(directory, 'table.bin'), 10);
    const { manager, clock, blocks } = await open(t, directory, sources);
    assert.equal(manager.nameCount, 0);
    await clock.idle();
    assert.ok(blocks('n1.example'));
    assert.equal(manager.statuses()[0]?.state, 'ok');
  });
});
