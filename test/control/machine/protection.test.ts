/**
 * The switch with a clock that tests move: pauses end by themselves, whatever the clocks do.
 */
import assert from 'node:assert/strict';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { ProtectionSwitch } from '../../../main/control/machine/protection.ts';
import { FakeClock } from '../fakes.ts';

const MINUTE = 60_000;
const opened = new Set<ProtectionSwitch>();

/** Removed when nothing is being saved there any more. */
async function tempDir(t: TestContext): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  t.after(async () => {
    for (const made of opened) await made.close();
    await rm(path, { recursive: true });
  });
  return path;
}

function open(folder: string, clock: FakeClock) {
  const changes: string[] = [];
  const failures: string[] = [];
  const made: ProtectionSwitch = ProtectionSwitch.open({
    file: join(folder, 'protection.json'),
    clock,
    onChange: () => changes.push(made.state.state),
    onSaveFailed: (reason) => failures.push(reason),
  });
  opened.add(made);
  return { made, changes, failures };
}

async function paused(t: TestContext, minutes: number) {
  const folder = await tempDir(t);
  const clock = new FakeClock();
  const parts = open(folder, clock);
  await parts.made.pause(minutes);
  return { folder, clock, ...parts };
}

test('on by default; off until resumed', async (t) => {
  const clock = new FakeClock();
  const { made, changes } = open(await tempDir(t), clock);
  assert.equal(made.isFiltering, true);
  assert.deepEqual(await made.pause(undefined), { state: 'off', resumesAtMs: null });
  clock.advance(48 * 60 * MINUTE);
  assert.equal(made.isFiltering, false);
  await made.resume();
  assert.equal(made.isFiltering, true);
  assert.deepEqual(changes, ['off', 'on']);
});

test('a pause ends after its minutes, not a second earlier', async (t) => {
  const { made, clock } = await paused(t, 5);
  assert.deepEqual(made.state, { state: 'paused', resumesAtMs: clock.wall + 5 * MINUTE });
  clock.advance(5 * MINUTE - 1_000);
  assert.equal(made.state.state, 'paused');
  clock.advance(1_000);
  assert.equal(made.state.state, 'on');
  await made.close();
  assert.equal(clock.timers, 0);
});

test('a fraction of a minute is a pause too', async (t) => {
  const { made, clock } = await paused(t, 0.01);
  clock.advance(599);
  assert.equal(made.isFiltering, false);
  clock.advance(1);
  assert.equal(made.isFiltering, true);
});

test('after a sleep longer than the pause, filtering is back within a second', async (t) => {
  const { made, clock } = await paused(t, 5);
  clock.advance(10_000);
  clock.sleep(60 * MINUTE);
  clock.advance(1_000);
  assert.equal(made.state.state, 'on');
});

test('a wall clock set back does not make the pause longer, and the shown end follows', async (t) => {
  const { made, clock } = await paused(t, 5);
  clock.advance(MINUTE);
  clock.wall -= 24 * 60 * MINUTE;
  clock.advance(1_000);
  const { resumesAtMs } = made.state;
  assert.ok(Math.abs((resumesAtMs ?? 0) - (clock.wall + 4 * MINUTE - 1_000)) <= 2_000);
  clock.advance(4 * MINUTE - 2_000);
  assert.equal(made.state.state, 'paused');
  clock.advance(2_000);
  assert.equal(made.state.state, 'on');
});

test('a pause survives a restart and ends at the same time', async (t) => {
  const { folder, made, clock } = await paused(t, 10);
  const end = made.state.resumesAtMs;
  clock.advance(2 * MINUTE);
  await made.close();
  clock.sleep(3 * MINUTE);
  const { made: again } = open(folder, clock);
  assert.deepEqual(again.state, { state: 'paused', resumesAtMs: end });
  clock.advance(5 * MINUTE);
  assert.equal(again.state.state, 'on');
});

test('a pause that ended while the program was down is over; off stays off', async (t) => {
  const { folder, made, clock } = await paused(t, 10);
  await made.close();
  clock.sleep(11 * MINUTE);
  const { made: again } = open(folder, clock);
  assert.equal(again.state.state, 'on');
  await again.pause(undefined);
  await again.close();
  const { made: third } = open(folder, clock);
  assert.equal(third.state.state, 'off');
});

test('a restart with a clock in 1970 cannot make a pause longer than it was', async (t) => {
  const { folder, made, clock } = await paused(t, 10);
  await made.close();
  clock.wall = 0;
  const { made: again } = open(folder, clock);
  assert.deepEqual(again.state, { state: 'paused', resumesAtMs: 10 * MINUTE });
});

test('a pause in a pause counts from now; resume ends it', async (t) => {
  const { made, clock, changes } = await paused(t, 60);
  clock.advance(30 * MINUTE);
  await made.pause(5);
  clock.advance(5 * MINUTE);
  assert.equal(made.state.state, 'on');
  await made.pause(5);
  await made.resume();
  clock.advance(10 * MINUTE);
  assert.deepEqual(changes, ['paused', 'paused', 'on', 'paused', 'on']);
});

for (const content of ['', 'null', '{"state":"paused"}', '{"state":"x","resumesAtMs":9e99}', '{']) {
  test(`a state file with ${JSON.stringify(content)} means on`, async (t) => {
    const folder = await tempDir(t);
    await writeFile(join(folder, 'protection.json'), content);
    const { made } = open(folder, new FakeClock());
    assert.equal(made.state.state, 'on');
  });
}

test('the state holds even when it cannot be saved, and that is told', async (t) => {
  const clock = new FakeClock();
  const { made, failures } = open(join(await tempDir(t), 'missing'), clock);
  await made.pause(1);
  assert.equal(made.state.state, 'paused');
  assert.equal(failures.length, 1);
});

test('the file is small and for this user only', async (t) => {
  const { folder, made } = await paused(t, 1);
  await made.close();
  const file = join(folder, 'protection.json');
  assert.ok((await readFile(file)).length < 400);
});

for (const years of [10, -10]) {
  test(`a wall clock set by ${String(years)} years ends no pause and makes none longer`, async (t) => {
    const { folder, made, clock } = await paused(t, 10);
    clock.advance(MINUTE);
    clock.wall += years * 366 * 24 * 60 * MINUTE;
    clock.advance(MINUTE);
    assert.equal(made.state.state, 'paused');
    await made.close();
    // Over a restart of the program, too; and the clock is put right meanwhile.
    clock.wall -= years * 366 * 24 * 60 * MINUTE;
    clock.sleep(5 * MINUTE);
    const { made: again } = open(folder, clock);
    assert.equal(again.state.state, 'paused');
    assert.ok(Math.abs((again.state.resumesAtMs ?? 0) - (clock.wall + 3 * MINUTE)) < 2_000);
    clock.advance(3 * MINUTE - 1_000);
    assert.equal(again.state.state, 'paused');
    clock.advance(1_000);
    assert.equal(again.state.state, 'on');
  });
}

test('after a boot with a clock ten years ahead, a pause has what it had left', async (t) => {
  const { folder, made, clock } = await paused(t, 10);
  clock.advance(4 * MINUTE);
  await made.pause(6);
  await made.close();
  clock.bootId = 'second-boot';
  clock.wall += 10 * 366 * 24 * 60 * MINUTE;
  const { made: again } = open(folder, clock);
  assert.equal(again.state.state, 'paused');
  clock.advance(6 * MINUTE);
  assert.equal(again.state.state, 'on');
});

test('a damaged state is told, set aside, and filtering is on', async (t) => {
  const { folder, made } = await paused(t, 10);
  await made.close();
  const file = join(folder, 'protection.json');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('"paused"', '"qaused"'));
  const told: string[] = [];
  const again = ProtectionSwitch.open({
    file,
    clock: new FakeClock(),
    onChange: () => undefined,
    onSaveFailed: () => undefined,
    onDamaged: (sentence) => told.push(sentence),
  });
  assert.equal(again.isFiltering, true);
  assert.match(told.join(), /protection\.json was damaged and is set aside/);
  assert.equal((await readFile(`${file}.damaged`, 'utf8')).includes('qaused'), true);
});
