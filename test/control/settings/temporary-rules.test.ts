/** Rules that end by themselves (main/control/settings/temporary-rules.ts). */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { TemporaryRules } from '../../../main/control/settings/temporary-rules.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { FakeClock } from '../fakes.ts';

async function setUp(t: TestContext, text?: string) {
  const directory = await tempDir(t);
  const file = join(directory, 'temporary-rules.json');
  if (text !== undefined) await writeFile(file, text);
  const clock = new FakeClock();
  const notices: (string | null)[] = [];
  const health = { setNotice: (_: string, sentence: string | null) => void notices.push(sentence) };
  let changes = 0;
  const onChange = (): void => {
    changes++;
  };
  const open = (ownClock = clock) =>
    TemporaryRules.open({ directory, clock: ownClock, health, onChange });
  return { open, clock, notices, file, changes: () => changes };
}

const texts = (rules: TemporaryRules): string[] => rules.all.map(({ rule }) => rule);

test('a rule ends at its time, by one timer, and is told', async (t) => {
  const { open, clock, changes } = await setUp(t);
  const rules = open();
  await rules.add('||b.example^', 20);
  await rules.add('@@||a.example^', 10);
  assert.deepEqual(texts(rules), ['@@||a.example^', '||b.example^']);
  assert.equal(clock.timers, 1);
  clock.advance(10 * 60_000 - 1);
  assert.equal(rules.all.length, 2);
  clock.advance(1);
  assert.deepEqual(texts(rules), ['||b.example^']);
  assert.equal(changes(), 3);
  clock.advance(10 * 60_000);
  assert.deepEqual([rules.all.length, clock.timers], [0, 0]);
  await rules.close();
});

test('a machine that slept ends it at the next look', async (t) => {
  const { open, clock } = await setUp(t);
  const rules = open();
  await rules.add('||a.example^', 10);
  clock.sleep(11 * 60_000);
  assert.equal(rules.all.length, 1);
  rules.lookAtClock();
  assert.equal(rules.all.length, 0);
  await rules.close();
});

test('what was saved holds after a crash until its end, and no longer', async (t) => {
  const { open, file } = await setUp(t);
  const first = open(new FakeClock());
  await first.add('||a.example^', 10);
  await first.add('||b.example^$client=192.0.2.7', 30);
  // No close: the file alone has to do.
  const clock = new FakeClock();
  clock.sleep(15 * 60_000);
  const second = open(clock);
  assert.deepEqual(texts(second), ['||b.example^$client=192.0.2.7']);
  clock.advance(15 * 60_000);
  assert.equal(second.all.length, 0);
  await second.close();
  assert.match(await readFile(file, 'utf8'), /\{"rules":\[\]/);
});

test('a clock that was set back makes no rule live longer than a day', async (t) => {
  const endsAtMs = new FakeClock().wall + 100 * 24 * 3_600_000;
  const { open, clock } = await setUp(
    t,
    JSON.stringify({ rules: [{ rule: '||a.example^', endsAtMs }] }),
  );
  const rules = open();
  const [only] = rules.all;
  assert.equal(only?.endsAtMs, clock.wall + LIMITS.temporaryMinutesMax * 60_000);
  await rules.close();
});

test('the opposite about the same name goes; another client is another subject', async (t) => {
  const { open } = await setUp(t);
  const rules = open();
  await rules.add('||a.example^', 10);
  await rules.add('||a.example^$client=192.0.2.7', 10);
  await rules.add('@@||a.example^', 5);
  assert.deepEqual(texts(rules), ['@@||a.example^', '||a.example^$client=192.0.2.7']);
  assert.equal(await rules.remove('A.EXAMPLE'), false);
  assert.equal(await rules.remove('@@a.example'), true);
  assert.equal(rules.all.length, 1);
  await rules.close();
});

test('there is a bound', async (t) => {
  const { clock, file, open } = await setUp(t);
  const many = Array.from({ length: LIMITS.temporaryRulesMax + 5 }, (_, n) => ({
    rule: `||n${String(n)}.example^`,
    endsAtMs: clock.wall + 60_000,
  }));
  await writeFile(file, JSON.stringify({ rules: many }));
  const rules = open();
  assert.equal(rules.all.length, LIMITS.temporaryRulesMax);
  await assert.rejects(rules.add('||more.example^', 1), { code: 'TOO_MANY' });
  await rules.add('||n0.example^', 2);
  assert.equal(rules.all.length, LIMITS.temporaryRulesMax);
  await rules.close();
});

for (const text of ['', 'null', '{"rules":5}', '[]', '{"rules":[', `{"a":"${'x'.repeat(1e6)}"}`]) {
  test(`a damaged file is told and forgotten: ${text.slice(0, 12)}`, async (t) => {
    const { open, notices } = await setUp(t, text);
    const rules = open();
    assert.equal(rules.all.length, 0);
    assert.match(notices[0] ?? '', /damaged/);
    await rules.close();
  });
}

test('entries that are no rules are left out', async (t) => {
  const endsAtMs = new FakeClock().wall + 60_000;
  const entries = [null, 5, { rule: 'a b', endsAtMs }, { rule: '||a.example^' }, { endsAtMs }];
  const good = { rule: '||good.example^', endsAtMs };
  const { open, notices } = await setUp(t, JSON.stringify({ rules: [...entries, good] }));
  const rules = open();
  assert.deepEqual(texts(rules), ['||good.example^']);
  assert.deepEqual(notices, []);
  await rules.close();
});

for (const years of [10, -10]) {
  test(`a clock set by ${String(years)} years ends no rule and makes none longer`, async (t) => {
    const { open, clock } = await setUp(t);
    const jumpMs = years * 366 * 24 * 3_600_000;
    const rules = open();
    await rules.add('||a.example^', 20);
    clock.advance(5 * 60_000);
    clock.wall += jumpMs;
    rules.lookAtClock();
    assert.equal(rules.all[0]?.endsAtMs, clock.wall + 15 * 60_000, 'the shown end follows');
    await rules.close();
    const again = open();
    assert.equal(again.all[0]?.endsAtMs, clock.wall + 15 * 60_000);
    clock.wall -= jumpMs;
    again.lookAtClock();
    clock.advance(15 * 60_000 - 1);
    assert.equal(again.all.length, 1);
    clock.advance(1);
    assert.equal(again.all.length, 0);
    await again.close();
  });
}

test('after a boot with a clock ten years ahead, a rule has what it had left', async (t) => {
  const { open, clock } = await setUp(t);
  const rules = open();
  await rules.add('||a.example^', 20);
  await rules.close();
  clock.bootId = 'second-boot';
  clock.wall += 10 * 366 * 24 * 3_600_000;
  const again = open();
  assert.equal(again.all.length, 1);
  clock.advance(20 * 60_000);
  assert.equal(again.all.length, 0);
  await again.close();
});
