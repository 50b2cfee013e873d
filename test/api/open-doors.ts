/**
 * Opens every door over one service of stand-ins, and calls a method through each.
 */
import { EventEmitter } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { fromWire, type WireError } from '../../main/contract/errors.ts';
import { AccessToken } from '../../main/api/http/access-token.ts';
import { runCli } from '../../main/api/cli/cli.ts';
import {
  controlPlace,
  controlSocketPath,
  type SocketPath,
} from '../../main/api/http/control-socket.ts';
import { dispatch } from '../../main/api/dispatch.ts';
import { openHttpDoor } from '../../main/api/http/door.ts';
import { CHANNEL, openIpcDoor, type IpcEvent, type IpcMainLike } from '../../main/api/ipc/ipc.ts';
import { RunFile } from '../../main/api/run-file.ts';
import { FakeClock, fakeService } from '../control/fakes.ts';

/** What a door answered: a value, or an error's code and message. */
export type Outcome = { readonly value: unknown } | { readonly error: WireError };

/** A window of Electron's: what it was sent, and whether it is gone. */
export class FakeWindow extends EventEmitter {
  readonly id = 1;
  readonly sent: [channel: string, value: unknown][] = [];
  gone = false;

  send(channel: string, value: unknown): void {
    this.sent.push([channel, value]);
  }

  isDestroyed(): boolean {
    return this.gone;
  }
}

/** Electron's ipcMain, with what a renderer would do to it. */
export class FakeIpcMain extends EventEmitter {
  readonly handlers = new Map<string, (event: never, ...values: unknown[]) => Promise<unknown>>();

  handle(channel: string, listener: (event: never, ...values: unknown[]) => Promise<unknown>) {
    this.handlers.set(channel, listener);
  }

  removeHandler(channel: string): void {
    this.handlers.delete(channel);
  }

  invoke(event: IpcEvent, ...values: unknown[]): Promise<unknown> | undefined {
    return this.handlers.get(CHANNEL.call)?.(event as never, ...values);
  }

  upload(event: IpcEvent, ...values: unknown[]): Promise<unknown> | undefined {
    return this.handlers.get(CHANNEL.upload)?.(event as never, ...values);
  }
}

export async function openDoors(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  const clock = new FakeClock();
  const parts = await fakeService(folder, clock);
  const { service } = parts;
  const common = { service, version: '1.2.3', pageFolder: join(folder, 'page') };
  const token = await AccessToken.open(folder, () => undefined);
  const { store } = parts;
  const access = { token: () => token.value, hosts: () => store.config.http.hosts };
  const listen = { host: '127.0.0.1', port: 0 };
  const door = await openHttpDoor({ name: 'HTTP', listen }, { ...common, access });
  const socket = controlSocketPath(folder) as SocketPath;
  const place = await controlPlace(socket);
  const controlDoor = await openHttpDoor(place, { ...common, access: null });
  const runFile = await RunFile.claim(folder, '1.2.3');
  await runFile.publish({ dns: [], http: `127.0.0.1:${String(door.port)}` });
  const ipcMain = new FakeIpcMain();
  const window = new FakeWindow();
  const closeIpc = openIpcDoor<IpcEvent>({
    ...{ ipcMain: ipcMain as unknown as IpcMainLike, service },
    isOurs: (event) => event.senderFrame === 'ours',
  });
  t.after(async () => {
    closeIpc();
    await Promise.all([door.close(), controlDoor.close()]);
    socket.release();
    await service.close();
    await parts.protection.close();
    await rm(folder, { recursive: true });
  });
  const http = `http://127.0.0.1:${String(door.port)}`;
  const ourFrame: IpcEvent = { sender: window, senderFrame: 'ours' };
  const doors = { door, controlDoor, ipcMain, window, ourFrame, closeIpc };
  return { ...parts, ...doors, folder, clock, http, token };
}

type Doors = Awaited<ReturnType<typeof openDoors>>;

/** Each way in, by name. */
export const DOORS: Record<
  string,
  (doors: Doors, name: string, input: unknown) => Promise<Outcome>
> = {
  async dispatch({ service }, name, input) {
    const reply = await dispatch(service, { permission: 'write', isLocal: true }, name, input);
    return reply.ok ? { value: plain(reply.value) } : { error: reply.error };
  },
  async ipc({ ipcMain, ourFrame }, name, input) {
    const reply = (await ipcMain.invoke(ourFrame, name, input)) as
      { ok: true; value: unknown } | { ok: false; error: WireError };
    return reply.ok ? { value: plain(reply.value) } : { error: reply.error };
  },
  async http({ http, token }, name, input) {
    const response = await fetch(`${http}/api/${name}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token.value}` },
      body: JSON.stringify(input),
    });
    return outcomeOf(await response.json());
  },
  async cli({ folder }, name, input) {
    let text = '';
    const output = { out: (part: string) => (text += part), err: (part: string) => (text += part) };
    await runCli(['--data-dir', folder, '--json', 'call', name, JSON.stringify(input)], output);
    return outcomeOf(JSON.parse(text));
  },
};

function outcomeOf(body: unknown): Outcome {
  const { error } = body as { error?: WireError };
  if (!error) return { value: body };
  const { code, message } = fromWire(error);
  return { error: { code, message } };
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value));
}
