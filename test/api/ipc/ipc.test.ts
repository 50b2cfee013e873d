/**
 * The window's door: foreign frames, live updates, windows that hang, go away or load again.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { CHANNEL, type IpcEvent } from '../../../main/api/ipc/ipc.ts';
import { openDoors } from '../open-doors.ts';

async function subscribers(doors: Awaited<ReturnType<typeof openDoors>>): Promise<number> {
  const { queues } = await doors.service.call('status', {});
  return queues.find(({ name }) => name === 'live subscribers')?.depth ?? -1;
}

test('a frame that is not ours may do nothing', async (t) => {
  const doors = await openDoors(t);
  const foreign: IpcEvent = { sender: doors.window, senderFrame: 'https://evil.example' };
  const reply = await doors.ipcMain.invoke(foreign, 'pause', {});
  assert.deepEqual((reply as { error: { code: string } }).error.code, 'NOT_ALLOWED');
  doors.ipcMain.emit(CHANNEL.subscribe, foreign);
  assert.equal(await subscribers(doors), 0);
  assert.equal((await doors.service.call('status', {})).protection.state, 'on');
});

test('updates go to the window until it unsubscribes, loads again or is closed', async (t) => {
  const doors = await openDoors(t);
  const { ipcMain, window, ourFrame, clock } = doors;
  ipcMain.emit(CHANNEL.subscribe, ourFrame);
  ipcMain.emit(CHANNEL.subscribe, ourFrame);
  assert.equal(await subscribers(doors), 1, 'a window that loaded again has one place');
  clock.advance(1_000);
  assert.ok(window.sent.length > 0);
  assert.equal(window.sent[0]?.[0], CHANNEL.event);
  ipcMain.emit(CHANNEL.unsubscribe, ourFrame);
  assert.equal(await subscribers(doors), 0);
  ipcMain.emit(CHANNEL.subscribe, ourFrame);
  window.emit('destroyed');
  assert.equal(await subscribers(doors), 0);
  assert.equal(window.listenerCount('destroyed'), 0);
});

test('a window that acknowledges and then hangs gets one update when it is back', async (t) => {
  const { ipcMain, window, ourFrame, clock, service } = await openDoors(t);
  ipcMain.emit(CHANNEL.subscribe, ourFrame);
  clock.advance(0);
  ipcMain.emit(CHANNEL.received, ourFrame);
  clock.advance(1_000);
  const before = window.sent.length;
  for (let round = 0; round < 100; round++) {
    service.rowsLogged([{ id: round } as never], 0);
    clock.advance(LIMITS.liveIntervalMs);
  }
  assert.equal(window.sent.length, before, 'nothing is queued for it');
  ipcMain.emit(CHANNEL.received, ourFrame);
  assert.equal(window.sent.length, before + 1);
  const update = window.sent.at(-1)?.[1] as { rows: { id: number }[]; rowsLeftOut: number };
  assert.deepEqual([update.rows.at(-1)?.id, update.rowsLeftOut], [99, 99]);
});

test('closing the door takes everything back', async (t) => {
  const doors = await openDoors(t);
  doors.ipcMain.emit(CHANNEL.subscribe, doors.ourFrame);
  doors.closeIpc();
  doors.closeIpc();
  assert.equal(await subscribers(doors), 0);
  assert.deepEqual(doors.ipcMain.eventNames(), []);
  assert.equal(doors.ipcMain.handlers.size, 0);
});

test('a file comes in pieces from our page only, and a method takes it by its id', async (t) => {
  const { ipcMain, ourFrame, window, service } = await openDoors(t);
  type Sent = { ok: boolean; value: { id: string; bytes: number }; error: { code: string } };
  const send = async (frame: IpcEvent, id: unknown, piece: unknown) =>
    (await ipcMain.upload(frame, id, piece)) as Sent;
  const text = '0.0.0.0 bad.example\n';
  const { value } = await send(ourFrame, null, Buffer.from(text.slice(0, 5)));
  assert.equal((await send(ourFrame, value.id, Buffer.from(text.slice(5)))).value.bytes, 20);
  const reply = await ipcMain.invoke(ourFrame, 'import.apply', { upload: value.id });
  assert.deepEqual((await service.call('rules.list', {})).rules, ['|bad.example^']);
  assert.equal((reply as { ok: boolean }).ok, true);
  const foreign: IpcEvent = { sender: window, senderFrame: 'https://evil.example' };
  assert.equal((await send(foreign, null, Buffer.from('x'))).error.code, 'NOT_ALLOWED');
  for (const [id, piece] of [
    [null, 'text'],
    [null, '/etc/passwd'],
    [7, Buffer.from('x')],
    [null, Buffer.alloc(LIMITS.uploadPieceBytesMax + 1)],
  ]) {
    assert.equal((await send(ourFrame, id, piece)).error.code, 'ARGUMENT_INVALID');
  }
  assert.equal(service.uploads.bytes, 0);
});
