import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../main/contract/errors.ts';
import { METHODS } from '../../main/contract/methods/methods.ts';
import { OUTCOME, REASON } from '../../main/contract/outcome.ts';
import { ReaderClient } from '../../main/log/reader-client.ts';
import { facts, ipv4, openLog, otherConnection, temporaryDirectory, until } from './fixtures.ts';
import type { OpenLog } from './fixtures.ts';

const nothing = (): Promise<void> => Promise.resolve();

async function stored({ log, ring }: OpenLog): Promise<void> {
  await until('all is stored', () => log.state.stored === ring.pushed);
}

test('search finds parts of names, clients, outcomes and times, newest first', async (t) => {
  const open = await openLog(t);
  const { log, ring } = open;
  log.setNames(new Map([[7, 'Ads']]), ['9.9.9.9']);
  const nowMs = Date.now();
  ring.push(facts('www.example.com', { timeMs: nowMs - 3_600_000, upstream: 0 }));
  ring.push(
    facts('ads.tracker.example', {
      timeMs: nowMs - 60_000,
      outcome: OUTCOME.blocked,
      reason: REASON.list,
      listId: 7,
      matchedLabels: 2,
    }),
  );
  ring.push(facts('mail.example.org', { timeMs: nowMs, address: ipv4(10, 0, 0, 2) }));
  await stored(open);
  const names = async (search: Parameters<typeof log.search>[0]): Promise<string[]> => {
    const result = await log.search(search);
    METHODS['queries.search'].output.parse(result);
    assert.deepEqual([result.incomplete, result.nextBeforeId], [false, null]);
    return result.rows.map((row) => row.name);
  };
  assert.deepEqual(await names({}), ['mail.example.org', 'ads.tracker.example', 'www.example.com']);
  assert.deepEqual(await names({ text: 'TRACKER' }), ['ads.tracker.example']);
  assert.deepEqual(await names({ text: 'example.' }), ['mail.example.org', 'www.example.com']);
  assert.deepEqual(await names({ client: '10.0.' }), ['mail.example.org']);
  const clientPlaces = [{ address: '10.0.0.0', prefix: 8, name: 'Mail Desk' }];
  assert.deepEqual(await names({ client: 'il de', clientPlaces }), ['mail.example.org']);
  assert.deepEqual(await names({ client: 'il de' }), []);
  assert.deepEqual(await names({ outcome: 'blocked' }), ['ads.tracker.example']);
  assert.deepEqual(await names({ sinceMs: nowMs - 120_000 }), [
    'mail.example.org',
    'ads.tracker.example',
  ]);
  assert.deepEqual(await names({ untilMs: nowMs - 60_000 }), [
    'ads.tracker.example',
    'www.example.com',
  ]);
  assert.deepEqual(await names({ sinceMs: nowMs - 60_000, untilMs: nowMs - 60_000 }), [
    'ads.tracker.example',
  ]);
  assert.deepEqual(await names({ sinceMs: nowMs + 600_000 }), []);
  const { rows } = await log.search({ text: 'ads.' });
  assert.deepEqual(rows[0], {
    id: 2,
    timeMs: nowMs - 60_000,
    client: '192.168.1.7',
    clientName: '',
    name: 'ads.tracker.example',
    type: 1,
    typeName: 'A',
    outcome: 'blocked',
    reason: 'list',
    rcode: 0,
    list: 'Ads',
    matchedName: 'tracker.example',
    upstream: '',
    durationUs: 1_000,
    transport: 'udp',
  });
  const [first] = (await log.search({ text: 'www' })).rows;
  assert.equal(first?.upstream, '9.9.9.9');
});

test('stored rows keep the names that lists and upstreams had then', async (t) => {
  const open = await openLog(t);
  const { log, ring } = open;
  log.setNames(new Map([[7, 'Old name']]), ['9.9.9.9']);
  ring.push(facts('a.example', { listId: 7, matchedLabels: 1, upstream: 0 }));
  await stored(open);
  log.setNames(new Map([[7, 'New name']]), ['1.1.1.1']);
  ring.push(facts('b.example', { listId: 7, matchedLabels: 1, upstream: 0 }));
  await stored(open);
  const { rows } = await log.search({});
  assert.deepEqual(
    rows.map((row) => [row.list, row.upstream]),
    [
      ['New name', '1.1.1.1'],
      ['Old name', '9.9.9.9'],
    ],
  );
});

test('pages join without gap or repetition while rows are added', async (t) => {
  const open = await openLog(t);
  const { log, ring } = open;
  for (let index = 0; index < 700; index++) ring.push(facts(`n${index}.example`));
  await stored(open);
  const ids: number[] = [];
  let beforeId: number | undefined;
  for (;;) {
    const page = await log.search({ limit: 128, beforeId });
    ids.push(...page.rows.map((row) => row.id));
    for (let index = 0; index < 10; index++) ring.push(facts('later.example'));
    await stored(open);
    if (page.nextBeforeId === null) break;
    beforeId = page.nextBeforeId;
  }
  assert.deepEqual(
    ids,
    Array.from({ length: 700 }, (_, index) => 700 - index),
  );
});

test('statistics: every step of the span, and the names and clients most seen', async (t) => {
  const open = await openLog(t);
  const { log, ring } = open;
  const endMs = Math.floor(Date.now() / 600_000) * 600_000;
  const push = (minutesAgo: number, count: number, name: string, outcome: number): void => {
    for (let index = 0; index < count; index++) {
      ring.push(
        facts(name, {
          timeMs: endMs - minutesAgo * 60_000,
          outcome: outcome as 0,
          address: ipv4(10, 0, 0, minutesAgo),
        }),
      );
    }
  };
  push(50, 3, 'old.example', OUTCOME.blocked);
  push(19, 5, 'ads.example', OUTCOME.blocked);
  push(11, 2, 'more.example', OUTCOME.blocked);
  push(10, 4, 'www.example', OUTCOME.cached);
  push(3, 1, 'gone.example', OUTCOME.failed);
  await stored(open);
  const result = await log.statistics({
    sinceMs: endMs - 30 * 60_000,
    untilMs: endMs,
    stepMinutes: 10,
  });
  METHODS.statistics.output.parse(result);
  assert.deepEqual(
    result.points.map(({ timeMs, ...counts }) => [
      (timeMs - endMs) / 60_000,
      ...Object.values(counts),
    ]),
    [
      [-30, 0, 0, 0, 0],
      [-20, 7, 7, 0, 0],
      [-10, 5, 0, 4, 1],
      [0, 0, 0, 0, 0],
    ],
  );
  assert.deepEqual(result.topBlocked, [
    { name: 'ads.example', count: 5 },
    { name: 'more.example', count: 2 },
  ]);
  assert.deepEqual(result.topClients, [
    { client: '10.0.0.19', clientName: '', count: 5 },
    { client: '10.0.0.10', clientName: '', count: 4 },
    { client: '10.0.0.11', clientName: '', count: 2 },
    { client: '10.0.0.3', clientName: '', count: 1 },
  ]);
});

test('a series is bounded whatever is asked, and a span that ends before it begins refused', async (t) => {
  const { log } = await openLog(t);
  const { points, stepMinutes } = await log.statistics({ sinceMs: 0, stepMinutes: 1 });
  assert.ok(points.length <= 1_500 && stepMinutes > 1);
  await assert.rejects(
    log.statistics({ sinceMs: 2, untilMs: 1 }),
    (error: AppError) => error.code === 'ARGUMENT_INVALID',
  );
});

test('a heavy report while 5,000 records a second come in: none is dropped', async (t) => {
  const open = await openLog(t);
  const { log, ring, directory } = open;
  ring.push(facts('first.example'));
  await stored(open);
  const many = otherConnection(t, directory);
  many.exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 400000)
    INSERT INTO queries SELECT NULL, ${Date.now()}, '10.0.0.' || (i % 200),
      'host' || i || '.example', 1, 2, 1, 0, 0, 1, 0, 10, 0, '' FROM n`);
  many.exec('UPDATE minutes SET last_id = (SELECT max(id) FROM queries)');
  const storedBefore = log.state.stored;
  const pushedBefore = ring.pushed;
  const begunMs = performance.now();
  const timer = setInterval(() => {
    const due = Math.floor((performance.now() - begunMs) * 5);
    while (ring.pushed - pushedBefore < due && ring.push(facts('now.example')));
  }, 2);
  const [found, statistics] = await Promise.all([
    log.search({ text: 'nowhere-to-be-found' }),
    log.statistics({}),
  ]);
  clearInterval(timer);
  assert.deepEqual(found.rows, []);
  assert.equal(statistics.topBlocked.length, 10);
  const pushed = ring.pushed - pushedBefore;
  assert.ok(pushed > 300, `only ${pushed} came in`);
  await until('all is stored', () => log.state.stored === storedBefore + pushed);
  assert.equal(ring.dropped, 0);
});

test('a search while the database is locked for writing answers', async (t) => {
  const open = await openLog(t);
  open.ring.push(facts('a.example'));
  await stored(open);
  const other = otherConnection(t, open.directory);
  other.exec('BEGIN EXCLUSIVE');
  assert.equal((await open.log.search({})).rows.length, 1);
  other.exec('ROLLBACK');
});

test('reads that follow each other closely do not keep the write-ahead log from starting over', async (t) => {
  const open = await openLog(t, { settings: { sizeMaxMiB: 16 } });
  const { log, ring } = open;
  const reading = { on: true };
  const reads = (async () => {
    while (reading.on) await log.search({ text: 'nothing-like-it' });
  })();
  for (let index = 0; index < 40_000; index++) {
    while (!ring.push(facts('some-name.example')))
      await new Promise((resolve) => setImmediate(resolve));
  }
  await stored(open);
  reading.on = false;
  await reads;
  const { walFileBytes } = await import('../../main/log/database.ts');
  const bytes = walFileBytes(open.directory);
  assert.ok(bytes < 4 * 1024 * 1024, `${bytes} bytes`);
});

test('a log that was never written can be searched', async (t) => {
  const { log } = await openLog(t, { settings: { mode: 'off' } });
  assert.equal(log.state.state, 'off');
  assert.deepEqual(await log.search({}), { rows: [], nextBeforeId: null, incomplete: false });
});

test('a log without a readable file says so', async (t) => {
  const reader = new ReaderClient(temporaryDirectory(t));
  t.after(() => reader.close());
  await assert.rejects(
    reader.call('search', {}, nothing),
    (error: AppError) => error.code === 'LOG_UNAVAILABLE' && /cannot be opened/.test(error.message),
  );
});

test('the reader is ended when idle and started again when needed', async (t) => {
  const open = await openLog(t);
  const reader = new ReaderClient(open.directory, { idleMs: 50 });
  t.after(() => reader.close());
  assert.equal(reader.isRunning, false);
  await reader.call('search', {}, nothing);
  assert.equal(reader.isRunning, true);
  await until('it is ended', () => !reader.isRunning);
  assert.deepEqual((await reader.call('search', {}, nothing)).rows, []);
});

test('a reader that hangs is ended, the call fails, and the next one works', async (t) => {
  const open = await openLog(t);
  const hanging = new ReaderClient(open.directory, {
    entry: new URL('hanging-reader.ts', import.meta.url),
    timeoutMs: 400,
  });
  t.after(() => hanging.close());
  const code = (error: AppError): boolean => error.code === 'SEARCH_TIMEOUT';
  await assert.rejects(hanging.call('search', { text: 'hang' }, nothing), code);
  assert.equal(hanging.isRunning, false);
  assert.deepEqual((await hanging.call('search', {}, nothing)).rows, []);
});

test('only so many calls wait, and closing fails those that do', async (t) => {
  const open = await openLog(t);
  const reader = new ReaderClient(open.directory);
  const calls = Array.from({ length: 40 }, () => reader.call('search', {}, nothing));
  const results = Promise.allSettled(calls);
  await reader.close();
  const codes = (await results).map((result) =>
    result.status === 'rejected' ? (result.reason as AppError).code : 'ok',
  );
  assert.equal(codes.filter((code) => code === 'TOO_MANY').length, 8);
  assert.ok(codes.includes('LOG_UNAVAILABLE'));
});

test('the names asked for lately come once each, the most frequent first, within bounds', async (t) => {
  const open = await openLog(t);
  const { log, ring } = open;
  const nowMs = Date.now();
  for (const [name, times, ageMs] of [
    ['often.example', 5, 60_000],
    ['old.example', 9, 25 * 3_600_000],
    ['seldom.example', 1, 1_000],
    ['sometimes.example', 3, 3_600_000],
  ] as const) {
    for (let time = 0; time < times; time++) ring.push(facts(name, { timeMs: nowMs - ageMs }));
  }
  await stored(open);
  const sinceMs = nowMs - 24 * 3_600_000;
  assert.deepEqual(await log.usedNames(sinceMs, 100), [
    'often.example',
    'sometimes.example',
    'seldom.example',
  ]);
  assert.deepEqual(await log.usedNames(sinceMs, 2), ['often.example', 'sometimes.example']);
  assert.deepEqual(await log.usedNames(nowMs + 1, 2), []);
});
