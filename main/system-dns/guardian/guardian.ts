/**
 * The app's side of the guardian process: starts it, knows when it is armed, when it died, and when
 * it gave the resolver back. Used by takeover.ts in the main thread.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../contract/errors.ts';
import { PROBE_EVERY_MS, SILENCE_MS, STALL_MS } from './guardian-watch.ts';
import { ORDERS_VARIABLE, type GuardianOrders, type GuardianReport } from './guardian-orders.ts';
import { PROBE_ZONE } from '../takeover/probe.ts';

/** A guardian that is not armed by then is none: the takeover is called off. */
const ARMED_MS = 5_000;
/** Smaller young generation, no compiler, no helper threads: it has nothing to compute. */
const NODE_FLAGS = ['--max-semi-space-size=1', '--jitless', '--v8-pool-size=0'];

export interface GuardianEvents {
  /** It ended without having been asked to, and without having restored. */
  onDied(reason: string): void;
  onRestored(report: GuardianReport): void;
}

/** A guardian that is armed. */
export interface GuardianHandle {
  readonly pid: number;
  /** Ends it without a restore. Resolves when it has ended. Idempotent. */
  dismiss(): Promise<void>;
}

/** Starts a guardian; resolves when it is armed. @throws AppError TAKEOVER_FAILED */
export type StartGuardian = (
  orders: GuardianOrders,
  events: GuardianEvents,
) => Promise<GuardianHandle>;

export const startGuardian: StartGuardian = startGuardianWith(guardianCommand);

/** As `startGuardian`, with a command that a test chose. */
export function startGuardianWith(
  command: (orders: GuardianOrders) => ReturnType<typeof guardianCommand>,
): StartGuardian {
  return (orders, events) => start(command(orders), orders, events);
}

async function start(
  { file, words }: ReturnType<typeof guardianCommand>,
  orders: GuardianOrders,
  events: GuardianEvents,
): Promise<GuardianHandle> {
  const child = spawn(file, words, {
    detached: true, // its own session: a closed terminal or Ctrl-C does not reach it
    cwd: '/',
    stdio: ['ignore', 'pipe', 'ignore'],
    env: guardianEnvironment(orders),
  });
  const guardian = new GuardianChild(child, events);
  await guardian.armed();
  child.unref();
  return guardian;
}

class GuardianChild implements GuardianHandle {
  readonly #child: ChildProcess;
  readonly #events: GuardianEvents;
  readonly #ended: Promise<void>;
  readonly #armed: Promise<void>;
  #isDismissed = false;
  #hasRestored = false;
  #isArmed = false;

  constructor(child: ChildProcess, events: GuardianEvents) {
    this.#child = child;
    this.#events = events;
    let arm: () => void = () => undefined;
    let refuse: (error: Error) => void = () => undefined;
    this.#armed = new Promise((resolve, reject) => {
      arm = resolve;
      refuse = reject;
    });
    this.#armed.catch(() => undefined); // told through armed()
    let text = '';
    child.stdout?.on('data', (chunk: Buffer) => {
      text += chunk.toString('utf8');
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      for (const line of lines) this.#line(line, arm);
    });
    this.#ended = new Promise((resolve) => {
      const end = (reason: string): void => {
        resolve();
        refuse(new AppError('TAKEOVER_FAILED', `the guardian did not start: ${reason}`));
        if (this.#isArmed && !this.#isDismissed && !this.#hasRestored) events.onDied(reason);
      };
      child.once('error', (error) => {
        end(error.message);
      });
      child.once('close', (code, signal) => {
        end(signal ?? `exit code ${String(code)}`);
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  async armed(): Promise<void> {
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), ARMED_MS);
    try {
      await this.#armed;
    } finally {
      clearTimeout(timer);
    }
  }

  async dismiss(): Promise<void> {
    this.#isDismissed = true;
    this.#child.kill('SIGKILL'); // it keeps nothing that would have to be closed
    await this.#ended;
  }

  #line(line: string, arm: () => void): void {
    if (line === 'armed') {
      this.#isArmed = true;
      arm();
    } else if (line.startsWith('restored ')) {
      this.#hasRestored = true;
      this.#events.onRestored(JSON.parse(line.slice('restored '.length)) as GuardianReport);
    }
  }
}

/**
 * What to start: of a build the watcher, which runs the guardian process when it is needed; from
 * sources, or where no watcher was built, that process itself.
 */
export function guardianCommand(
  orders: GuardianOrders,
  here: string = import.meta.url,
): { readonly file: string; readonly words: readonly string[] } {
  const isBuilt = !here.endsWith('.ts');
  const root = here
    .slice(0, here.lastIndexOf('/main/'))
    .replace('/app.asar/', '/app.asar.unpacked/');
  const entry = `${root}/main/system-dns/guardian/guardian-process.${isBuilt ? 'cjs' : 'ts'}`;
  const watcher = fileURLToPath(
    `${root}/native/${process.platform}-${process.arch}/guardian-watcher`,
  );
  const [server] = orders.servers;
  if (!isBuilt || server === undefined || !existsSync(watcher)) {
    return { file: process.execPath, words: [...NODE_FLAGS, fileURLToPath(entry)] };
  }
  const { address, port } = server;
  const numbers = [PROBE_EVERY_MS, SILENCE_MS, STALL_MS].map(String);
  return {
    file: watcher,
    words: [
      ...[String(orders.appPid), address, String(port), `${orders.instance}.${PROBE_ZONE}`],
      ...[...numbers, fileURLToPath(entry), process.execPath, ...NODE_FLAGS],
    ],
  };
}

/** Electron's program runs as plain Node with the first; the others keep free memory away. */
function guardianEnvironment(orders: GuardianOrders): NodeJS.ProcessEnv {
  const { PATH, DBUS_SYSTEM_BUS_ADDRESS, SystemRoot } = process.env;
  return {
    ELECTRON_RUN_AS_NODE: '1',
    MALLOC_ARENA_MAX: '1',
    MALLOC_TOP_PAD_: '0',
    MALLOC_TRIM_THRESHOLD_: '0',
    [ORDERS_VARIABLE]: JSON.stringify(orders),
    ...(PATH !== undefined && { PATH }),
    ...(DBUS_SYSTEM_BUS_ADDRESS !== undefined && { DBUS_SYSTEM_BUS_ADDRESS }),
    ...(SystemRoot !== undefined && { SystemRoot }),
  };
}
