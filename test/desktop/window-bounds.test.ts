/** Where the window opens again. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fitBounds, readBounds, writeBounds } from '../../main/electron/window-bounds.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-bounds-'));
after(() => {
  rmSync(folder, { recursive: true });
});

const SCREEN = { x: 0, y: 25, width: 1_920, height: 1_055 };
const SECOND = { x: 1_920, y: 0, width: 1_280, height: 1_024 };
const INSIDE = { x: 100, y: 80, width: 900, height: 700 };

test('what was written is read again', () => {
  const file = join(folder, 'window.json');
  writeBounds(file, { normal: INSIDE, isMaximized: true });
  assert.deepEqual(readBounds(file), { normal: INSIDE, isMaximized: true });
});

test('a missing, broken or odd file means the default', () => {
  const file = join(folder, 'odd.json');
  const none = { normal: null, isMaximized: false };
  assert.deepEqual(readBounds(join(folder, 'none.json')), none);
  for (const text of ['', '{', 'null', '7', '{"normal":{"x":1}}', '{"normal":{"x":"1"}}']) {
    writeFileSync(file, text);
    assert.deepEqual(readBounds(file), none, text);
  }
});

test('a window that cannot be saved is no failure', () => {
  writeBounds(join(folder, 'no', 'such', 'folder.json'), { normal: INSIDE, isMaximized: false });
});

test('a place on a screen is used again', () => {
  assert.deepEqual(fitBounds(INSIDE, [SCREEN]), INSIDE);
  const onSecond = { ...INSIDE, x: 2_000 };
  assert.deepEqual(fitBounds(onSecond, [SCREEN, SECOND]), onSecond);
});

test('a place on a screen that is gone is left to the system', () => {
  assert.deepEqual(fitBounds({ ...INSIDE, x: 2_000 }, [SCREEN]), { width: 900, height: 700 });
  assert.deepEqual(fitBounds({ ...INSIDE, y: -500 }, [SCREEN]), { width: 900, height: 700 });
});

test('sizes stay between the smallest window and the screen', () => {
  const huge = { x: 0, y: 30, width: 5_000, height: 5_000 };
  assert.deepEqual(fitBounds(huge, [SCREEN]), { x: 0, y: 30, width: 1_920, height: 1_055 });
  const tiny = { x: 0, y: 30, width: 120, height: 1 };
  assert.deepEqual(fitBounds(tiny, [SCREEN]), { x: 0, y: 30, width: 480, height: 400 });
  assert.deepEqual(fitBounds(null, []), { width: 1_100, height: 760 });
});
