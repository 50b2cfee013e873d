/**
 * The app under test inside a sandbox: the real takeover, journal, guardian and adapters, with a
 * stand-in engine. Driven by lines on its standard input, tells what happens in lines of JSON.
 *
 * Arguments: folder of the journal, port of the engine. Commands: on, off, cover, restore, hold
 * STEP (stop at that step), release, hang (the engine), busy (the main thread), state, quit.
 */
import { createInterface } from 'node:readline';
import { Worker } from 'node:worker_threads';
import { guardianCommand, startGuardianWith } from '../../../main/system-dns/guardian/guardian.ts';
import { JournalFile } from '../../../main/system-dns/takeover/journal.ts';
import { systemOwners } from '../../../main/system-dns/owners/owners.ts';
import { askServer, newInstanceId, probeName } from '../../../main/system-dns/takeover/probe.ts';
import { restore } from '../../../main/system-dns/takeover/restore.ts';
import { askStub } from '../../../main/system-dns/owners/stub-probe.ts';
import { Takeover } from '../../../main/system-dns/takeover.ts';

const [directory = '', port = '53'] = process.argv.slice(2);
const servers = ['127.0.0.1', '::1'].map((address) => ({ address, port: Number(port) }));
const instance = newInstanceId();
const journal = new JournalFile(directory);
const owners = systemOwners();
let holdAt = '';
let release: () => void = () => undefined;
let guardianPid = 0;
// The guardian of a build, with its watcher; kill.ts and the tests see to it that there is one.
const built = new URL('../../../dist/main/headless.js', import.meta.url).href;
const startGuardian = startGuardianWith((orders) => guardianCommand(orders, built));

function tell(event: string, data: unknown = null): void {
  process.stdout.write(`${JSON.stringify({ event, data })}\n`);
}

async function onStep(step: string): Promise<void> {
  tell('step', step);
  if (holdAt !== '' && step.startsWith(holdAt)) {
    tell('held', step);
    holdAt = '';
    await new Promise<void>((resolve) => {
      release = resolve;
    });
  }
}

const engine = new Worker(new URL('./engine-thread.ts', import.meta.url), {
  workerData: { servers, instance },
});
await new Promise((resolve, reject) => engine.once('message', resolve).once('error', reject));

const takeover = new Takeover({
  ...{ journal, directory, owners, instance, onStep },
  servers: () => servers,
  startGuardian: async (orders, events) => {
    const handle = await startGuardian(orders, events);
    guardianPid = handle.pid;
    tell('guardian', guardianPid);
    return handle;
  },
  probes: {
    engine: (server) => askServer(server, probeName(instance), 1_000),
    stub: (family) => askStub(probeName(instance), family, 2_000),
  },
  onChange: () => tell('state', takeover.state),
});

async function command(line: string): Promise<unknown> {
  const [verb = '', ...rest] = line.split(' ');
  switch (verb) {
    case 'on':
      return takeover.on();
    case 'off':
      return takeover.off();
    case 'cover':
      return takeover.cover();
    case 'restore':
      return restore({ journal, owners, onStep });
    case 'state':
      return takeover.state;
    case 'hold':
      holdAt = rest.join(' ');
      return holdAt;
    case 'release':
      holdAt = '';
      release();
      return null;
    case 'hang':
      engine.postMessage('hang');
      return null;
    case 'end-engine':
      return engine.terminate();
    case 'busy':
      setImmediate(() => {
        for (;;);
      });
      return null;
    default:
      return process.exit(0);
  }
}

tell('ready', process.pid);
for await (const line of createInterface({ input: process.stdin })) {
  const startedAt = performance.now();
  void command(line).then(
    (value) => tell('done', { line, value, tookMs: performance.now() - startedAt }),
    (error: unknown) => tell('failed', { line, message: String(error) }),
  );
}
