/**
 * Entry of the log writer's thread: messages in, LogWriter, messages out.
 *
 * Started by query-log.ts, once per program and again after a crash.
 */
import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { invariant } from '../contract/errors.ts';
import type { FromWriter, ToWriter, WriterData } from './messages.ts';
import { LogRing } from './ring.ts';
import { StatusBlock } from './status-block.ts';
import { LogWriter } from './writer.ts';

invariant(parentPort !== null, 'the log writer runs in a worker thread');
const port = parentPort;

/**
 * When the processor is short, answers come first and log lines are dropped and counted. On Linux
 * a priority set here is this thread's alone. Figures: `npm run bench:rivals`.
 */
const NICE = 15;
if (process.platform === 'linux') setPriority(0, NICE);

const data = workerData as WriterData;

const post = (message: FromWriter): void => {
  port.postMessage(message);
};

const writer = new LogWriter({
  directory: data.directory,
  settings: data.settings,
  rings: data.rings.map((buffer) => new LogRing(buffer)),
  status: new StatusBlock(data.status),
  names: { lists: data.lists, upstreams: data.upstreams },
  post,
});

async function handle(message: ToWriter): Promise<void> {
  switch (message.kind) {
    case 'settings':
      writer.setSettings(message.settings);
      return;
    case 'names':
      writer.setNames({ lists: message.lists, upstreams: message.upstreams });
      return;
    case 'live':
      writer.setLive(message.on);
      return;
    case 'prune':
      await writer.prune();
      post({ kind: 'done', id: message.id });
      return;
    case 'checkpoint':
      writer.checkpoint();
      post({ kind: 'done', id: message.id });
      return;
    case 'close':
      await writer.close(message.withinMs);
      port.close();
  }
}

port.on('message', (message: ToWriter) => {
  void handle(message);
});
writer.start();
writer.setLive(data.live);
post({ kind: 'ready' });
