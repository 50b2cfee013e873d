/**
 * The app as the kill test drives it: the built program in a process of its own, moved through its
 * HTTP door, stopped at steps by system-dns/takeover/hold-point.ts, and hurt through Node's inspector.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { connect, type CliClient } from '../../main/api/cli/client.ts';
import { connectInspector } from './inspector.ts';

export const HEADLESS = fileURLToPath(new URL('../../dist/main/headless.js', import.meta.url));
/** Of the inspector; every sandbox has a network of its own. */
const INSPECTOR_PORT = 9229;
const READY_MS = 20_000;
const HELD_MS = 15_000;
const LOOK_EVERY_MS = 5;

/** Folders of one sandbox; all on the disk that a power cut cuts, but `hold`. */
export interface Folders {
  readonly data: string;
  readonly journal: string;
  readonly hold: string;
}

/** What became of a call to the app. */
export interface CallEnd {
  readonly value: unknown;
  readonly error: string;
}

export class App {
  readonly #child: ChildProcess;
  readonly #folders: Folders;
  readonly #client: CliClient;
  readonly #said: readonly string[];

  private constructor(
    child: ChildProcess,
    folders: Folders,
    client: CliClient,
    said: readonly string[],
  ) {
    this.#child = child;
    this.#folders = folders;
    this.#client = client;
    this.#said = said;
  }

  /** @param isInspected  listens for `hurt`; resolves when it is ready; @throws when it is not */
  static async start(folders: Folders, isInspected: boolean): Promise<App> {
    for (const name of ['hold', 'held']) fs.rmSync(join(folders.hold, name), { force: true });
    const flags = isInspected ? [`--inspect=127.0.0.1:${String(INSPECTOR_PORT)}`] : [];
    const child = spawn(process.execPath, [...flags, HEADLESS, 'run', '--data-dir', folders.data], {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, SLUICE_HOLD_DIR: folders.hold },
    });
    const said: string[] = [];
    createInterface({ input: child.stderr }).on('line', (line) => said.push(line));
    const timer = setTimeout(() => child.kill('SIGKILL'), READY_MS);
    let isReady = false;
    for await (const line of createInterface({ input: child.stdout })) {
      isReady = line.startsWith('ready ');
      if (isReady) break;
    }
    clearTimeout(timer);
    child.stdout.resume();
    if (!isReady) throw new Error(`the app was not ready: ${said.slice(-3).join(' | ')}`);
    return new App(child, folders, await connect(folders.data), said);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Last lines that it printed. */
  get said(): readonly string[] {
    return this.#said.slice(-4);
  }

  /** Its guardian; 0 while it has none. */
  get guardian(): number {
    const pid = String(this.pid);
    try {
      const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8');
      const found = children.split(' ').find((one) => nameOf(one).startsWith('guardian'));
      return Number(found ?? 0);
    } catch {
      return 0; // the app has ended
    }
  }

  /** Never throws: a call that nobody answers any more has an error. */
  async call(method: string, input: object = {}): Promise<CallEnd> {
    try {
      return { value: await this.#client.call(method, input), error: '' };
    } catch (error) {
      return { value: null, error: error instanceof Error ? error.message : String(error) };
    }
  }

  /** Makes a call that stops before the step; resolves once it stands there, with the call. */
  async callAndHold(method: string, step: string): Promise<{ readonly end: Promise<CallEnd> }> {
    fs.writeFileSync(join(this.#folders.hold, 'hold'), step);
    const end = this.call(method);
    let early: CallEnd | undefined;
    void end.then((ended) => (early = ended));
    const untilMs = performance.now() + HELD_MS;
    while (!fs.existsSync(join(this.#folders.hold, 'held'))) {
      if (early !== undefined || performance.now() > untilMs) {
        throw new Error(`${method} did not come to "${step}": ${JSON.stringify(early)}`);
      }
      await delay(LOOK_EVERY_MS);
    }
    return { end };
  }

  /** Lets a held call go on. */
  release(): void {
    fs.rmSync(join(this.#folders.hold, 'hold'), { force: true });
  }

  /**
   * engine thread: throws, or stands still; main thread: stands still.
   *
   * @param afterMs  from now; resolves earlier
   */
  async hurt(how: 'engine throws' | 'engine hangs' | 'main hangs', afterMs: number): Promise<void> {
    const blow = how === 'engine throws' ? THROW : HANG;
    const later = `setTimeout(() => { ${blow} }, ${String(afterMs)})`;
    const inspector = await connectInspector(INSPECTOR_PORT);
    try {
      if (how === 'main hangs') await inspector.run(later);
      else await inspector.runInWorker('dataplane-thread', later);
    } finally {
      inspector.close();
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }
}

const HANG = 'for (;;);';
const THROW = "throw new Error('ended by the kill test');";

/** Name of a process; '' when it has gone. */
export function nameOf(pid: number | string): string {
  try {
    return fs.readFileSync(`/proc/${String(pid)}/comm`, 'utf8').trim();
  } catch {
    return '';
  }
}
