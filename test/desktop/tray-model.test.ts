/** The tray's text and actions for each state. */
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { de } from '../../main/texts/de/index.ts';
import { en } from '../../main/texts/en/index.ts';
import {
  trayFile,
  trayItem,
  trayView as trayViewIn,
  type TrayView,
  type TrayItem,
  type TrayState,
} from '../../main/electron/tray-model.ts';

const ON: TrayState = {
  protection: { state: 'on', resumesAtMs: null },
  takeover: { state: 'off', reason: '' },
  health: 'ok',
  degradedReasons: [],
  queries: 12_345,
  blocked: 678,
  language: 'auto',
};
const PAUSE_END_MS = Date.UTC(2026, 0, 5, 14, 35);
const PAUSED: TrayState = {
  ...ON,
  protection: { state: 'paused', resumesAtMs: PAUSE_END_MS },
};
const OFF: TrayState = { ...ON, protection: { state: 'off', resumesAtMs: null } };

const utc = (timeMs: number): string => new Date(timeMs).toISOString().slice(11, 16);
const trayView = (state: TrayState, formatTime: typeof utc): TrayView =>
  trayViewIn(state, formatTime, en);
const labels = (groups: readonly (readonly TrayItem[])[]): string[][] =>
  groups.map((group) => group.map(({ label }) => label));

test('on: offers three pauses and shows the counts', () => {
  const view = trayView(ON, utc);
  assert.equal(view.icon, 'on');
  assert.equal(view.tooltip, 'Sluice: Protection is on\n678 of 12,345 queries blocked');
  assert.deepEqual(labels(view.groups), [
    ['Protection is on'],
    ['Protection', 'Pause for 5 minutes', 'Pause for 15 minutes', 'Pause for 60 minutes'],
    [en.network.takeover.switch],
    ['Open Sluice', 'Quit'],
  ]);
  assert.deepEqual(trayItem(view, 'filtering'), {
    id: 'filtering',
    label: 'Protection',
    action: { kind: 'pause' },
    isChecked: true,
  });
  assert.deepEqual(trayItem(view, 'pause-15').action, { kind: 'pause', minutes: 15 });
});

test('paused: tells the end, and offers to resume or to pause longer', () => {
  const view = trayView(PAUSED, utc);
  assert.equal(view.icon, 'paused');
  assert.equal(trayItem(view, 'status').label, 'Paused until 14:35');
  assert.equal(trayItem(view, 'status').action, null);
  assert.equal(trayItem(view, 'filtering').isChecked, false);
  assert.deepEqual(trayItem(view, 'filtering').action, { kind: 'resume' });
  assert.deepEqual(trayItem(view, 'resume').action, { kind: 'resume' });
  assert.deepEqual(trayItem(view, 'pause-60').action, { kind: 'pause', minutes: 60 });
});

test('off: only the switch brings it back', () => {
  const view = trayView(OFF, utc);
  assert.equal(view.icon, 'off');
  assert.deepEqual(labels(view.groups), [
    ['Protection is off'],
    ['Protection'],
    [en.network.takeover.switch],
    ['Open Sluice', 'Quit'],
  ]);
  assert.deepEqual(trayItem(view, 'filtering').action, { kind: 'resume' });
});

test('degraded: says why, but a wish to be off shows first', () => {
  const fault = { health: 'degraded', degradedReasons: ['The disk is full.'] } as const;
  const view = trayView({ ...ON, ...fault }, utc);
  assert.equal(view.icon, 'degraded');
  assert.equal(trayItem(view, 'reason-0').label, 'The disk is full.');
  assert.equal(trayView({ ...OFF, ...fault }, utc).icon, 'off');
  assert.equal(trayView({ ...PAUSED, ...fault }, utc).icon, 'paused');
});

test('all apps on this computer: a tick, what a click does, and a line when there is more to say', () => {
  const of = (state: TrayState['takeover']['state'], reason = '') => {
    const view = trayView({ ...ON, takeover: { state, reason } }, utc);
    const { action, isChecked } = trayItem(view, 'takeover');
    const line = view.groups.flat().find(({ id }) => id === 'takeover-state')?.label;
    return [action?.kind, isChecked, line];
  };
  assert.deepEqual(of('off'), ['takeover', false, undefined]);
  assert.deepEqual(of('off', 'probe: no answer'), ['takeover', false, 'probe: no answer']);
  assert.deepEqual(of('applying'), [undefined, true, en.network.takeover.titles.applying]);
  assert.deepEqual(of('on'), ['restore', true, en.network.takeover.titles.on]);
  assert.deepEqual(of('degraded'), ['restore', true, en.network.takeover.titles.degraded]);
  assert.deepEqual(of('portal'), ['restore', true, en.network.takeover.titles.portal]);
  assert.deepEqual(of('restoring'), [undefined, false, en.network.takeover.titles.restoring]);
});

test('a long or many-line reason becomes one short line', () => {
  const degradedReasons = ['first line\nsecond', 'x'.repeat(200)];
  const view = trayView({ ...ON, health: 'degraded', degradedReasons }, utc);
  assert.equal(trayItem(view, 'reason-0').label, 'first line');
  assert.equal(trayItem(view, 'reason-1').label, `${'x'.repeat(79)}…`);
});

test('ids are unique in every state, and an unknown one throws', () => {
  for (const state of [ON, PAUSED, OFF]) {
    const ids = trayView(state, utc)
      .groups.flat()
      .map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
  }
  assert.throws(() => trayItem(trayView(OFF, utc), 'pause-5'), /no item pause-5/);
});

test('German: every item, and numbers as they are written there', () => {
  const view = trayViewIn(PAUSED, utc, de);
  assert.equal(view.tooltip, 'Sluice: Pausiert bis 14:35\n678 von 12.345 Anfragen gesperrt');
  assert.deepEqual(labels(view.groups), [
    ['Pausiert bis 14:35'],
    [
      'Schutz',
      'Jetzt fortsetzen',
      '5 Minuten pausieren',
      '15 Minuten pausieren',
      '60 Minuten pausieren',
    ],
    [de.network.takeover.switch],
    ['Sluice öffnen', 'Beenden'],
  ]);
});

test('every icon is there for every system', () => {
  const icons = resolve(import.meta.dirname, '../../resources/icons');
  for (const platform of ['linux', 'darwin', 'win32'] as const) {
    for (const icon of ['on', 'paused', 'off', 'degraded'] as const) {
      const file = resolve(icons, trayFile(icon, platform));
      assert.ok(existsSync(file), file);
      if (platform !== 'win32') assert.ok(existsSync(file.replace('.png', '@2x.png')), file);
    }
  }
  assert.ok(existsSync(resolve(icons, 'app.png')));
});
