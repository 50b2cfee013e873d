/**
 * The stand-in app of subject.ts in a process of its own, as inside-test.ts drives it:
 * commands in, events out.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const SUBJECT = fileURLToPath(new URL('./subject.ts', import.meta.url));
const EVENT_MS = 15_000;

export interface AppEvent {
  readonly event: string;
  readonly data: unknown;
}

export class App {
  readonly #child: ChildProcess;
  readonly #events: AppEvent[] = [];
  readonly #waiting = new Set<() => void>();
  #hasEnded = false;

  constructor(directory: string, port: number) {
    this.#child = spawn(process.execPath, [SUBJECT, directory, String(port)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#child.stdin?.on('error', () => undefined); // it may be dead
    this.#child.once('exit', () => {
      this.#hasEnded = true;
      this.#wake();
    });
    if (!this.#child.stdout) throw new Error('no pipe from the app');
    createInterface({ input: this.#child.stdout }).on('line', (line) => {
      this.#events.push(JSON.parse(line) as AppEvent);
      this.#wake();
    });
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** PIDs of all guardians it has started. */
  get guardians(): number[] {
    return this.#events
      .filter(({ event }) => event === 'guardian')
      .map(({ data }) => data as number);
  }

  get log(): readonly AppEvent[] {
    return this.#events;
  }

  say(command: string): void {
    this.#child.stdin?.write(`${command}\n`);
  }

  /** Resolves when an event, told already or later, fits. @throws when none came in time */
  async saw(what: string, fits: (event: AppEvent) => boolean): Promise<AppEvent> {
    const endMs = performance.now() + EVENT_MS;
    for (;;) {
      const found = this.#events.find(fits);
      if (found) return found;
      const leftMs = endMs - performance.now();
      if (this.#hasEnded || leftMs <= 0) {
        const last = JSON.stringify(this.#events.slice(-4));
        throw new Error(`the app did not tell: ${what}; last events ${last}`);
      }
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, leftMs);
        const wake = (): void => {
          clearTimeout(timer);
          this.#waiting.delete(wake);
          resolve();
        };
        this.#waiting.add(wake);
      });
    }
  }

  async done(command: string): Promise<AppEvent> {
    return this.saw(
      `the end of "${command}"`,
      ({ event, data }) =>
        (event === 'done' || event === 'failed') && (data as { line: string }).line === command,
    );
  }

  /** Without waiting: for the end of this process. */
  kill(): void {
    this.#child.kill('SIGKILL');
  }

  async end(): Promise<void> {
    if (this.#hasEnded) return;
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.kill('SIGKILL');
    await ended;
  }

  #wake(): void {
    for (const wake of [...this.#waiting]) wake();
  }
}
