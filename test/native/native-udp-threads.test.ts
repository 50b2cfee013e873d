/** The add-on in worker threads: exceptions, several at once, and threads that end in the middle. */
import assert from 'node:assert/strict';
import { on } from 'node:events';
import { before, describe, test } from 'node:test';
import type { TestContext } from 'node:test';
import { Worker } from 'node:worker_threads';
import { builtAddon, missingForAddon } from './built-addon.ts';
import type { ThreadReport } from './udp-thread.ts';
import { UdpClient } from './udp-client.ts';

interface Thread {
  readonly worker: Worker;
  readonly port: number;
  readonly rawPort: number;
  next(): Promise<ThreadReport>;
}

async function startThread(t: TestContext): Promise<Thread> {
  const worker = new Worker(new URL('udp-thread.ts', import.meta.url));
  t.after(() => worker.terminate());
  const reports = on(worker, 'message') as AsyncIterator<[ThreadReport]>;
  const next = async (): Promise<ThreadReport> => {
    const item = await reports.next();
    if (item.done === true) throw new Error('the thread ended');
    return item.value[0];
  };
  const first = await next();
  if (first.kind !== 'port') throw new Error(`the thread did not start: ${first.kind}`);
  return { worker, port: first.port, rawPort: first.rawPort, next };
}

describe('native UDP in threads', { skip: missingForAddon }, () => {
  before(async () => {
    await builtAddon();
  });

  async function client(t: TestContext): Promise<UdpClient> {
    const opened = await UdpClient.open();
    t.after(() => opened.close());
    return opened;
  }

  test('an exception reaches uncaughtException, and the socket goes on', async (t) => {
    const thread = await startThread(t);
    const asker = await client(t);
    for (const port of [thread.port, thread.rawPort]) {
      for (let round = 10; round < 30; round++) {
        await asker.send(Buffer.from([9]), port);
        assert.deepEqual(await thread.next(), { kind: 'exception', message: 'asked to throw' });
        await asker.send(Buffer.from([round]), port);
        assert.equal((await asker.receiveOne()).bytes[0], round);
      }
    }
  });

  test('an exception on one packet costs no other its answer', async (t) => {
    const thread = await startThread(t);
    const asker = await client(t);
    for (let index = 0; index < 200; index++) {
      await asker.send(Buffer.from([index % 4 === 0 ? 9 : 1, index]), thread.port);
    }
    const arrivals = await asker.receive(150);
    assert.equal(new Set(arrivals.map(({ bytes }) => bytes[1])).size, 150);
    for (let index = 0; index < 50; index++) assert.equal((await thread.next()).kind, 'exception');
  });

  test('a handler that closes its own listener', async (t) => {
    const thread = await startThread(t);
    const asker = await client(t);
    await asker.send(Buffer.from([6]), thread.port);
    assert.deepEqual(await thread.next(), { kind: 'open', sockets: 0 });
  });

  test('four threads serve at once, each from its own instance', async (t) => {
    const threads = await Promise.all(Array.from({ length: 4 }, () => startThread(t)));
    const asker = await client(t);
    for (let index = 0; index < 400; index++) {
      const { port } = threads[index % threads.length] as Thread;
      await asker.send(Buffer.from([index % 2 === 0 ? 1 : 7, 3]), port);
    }
    const ports = new Map<number, number>();
    for (const { port } of await asker.receive(400)) ports.set(port, (ports.get(port) ?? 0) + 1);
    assert.deepEqual(new Set(ports.values()), new Set([100]));
    assert.deepEqual(new Set(ports.keys()), new Set(threads.map(({ port }) => port)));
  });

  test('a thread that is terminated inside the handler frees its port', async (t) => {
    const thread = await startThread(t);
    const asker = await client(t);
    for (let index = 0; index < 100; index++) await asker.send(Buffer.from([7, 50]), thread.port);
    await asker.send(Buffer.from([8]), thread.port);
    await asker.send(Buffer.from([1]), thread.port);
    await thread.worker.terminate();
    const reopened = (await builtAddon()).open('127.0.0.1', thread.port, 0, 1, 0, () => undefined);
    await new Promise<void>((resolve) => reopened.close(resolve));
  });

  test('threads that end under load, one after another', async (t) => {
    const asker = await client(t);
    for (let round = 0; round < 8; round++) {
      const thread = await startThread(t);
      const load = { isOver: false };
      const flood = (async () => {
        while (!load.isOver) {
          for (let sent = 0; sent < 50; sent++) {
            void asker.send(Buffer.from([round % 2 === 0 ? 1 : 7, 0]), thread.port);
          }
          await new Promise((resolve) => setImmediate(resolve));
        }
      })();
      await asker.receive(50);
      await thread.worker.terminate();
      load.isOver = true;
      await flood;
    }
  });
});
