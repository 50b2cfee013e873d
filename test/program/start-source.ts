/**
 * Starts the real program from its sources, as `sluice ARGS`, and collects what it prints.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { learnToken } from '../support/api.ts';

export const HEADLESS = new URL('../../main/headless.ts', import.meta.url).pathname;

const LOCAL_HTTP = 'http: { listen: "127.0.0.1:0" }';

/** What a start finds. */
export interface Surroundings {
  /** Shell commands before it. */
  readonly prefix?: string;
  readonly environment?: NodeJS.ProcessEnv;
}

export class Sluice {
  readonly child: ChildProcess;
  out = '';
  err = '';
  readonly exited: Promise<number | null>;

  readonly #dataDirectory: string;

  constructor(argv: readonly string[], { prefix, environment }: Surroundings = {}) {
    this.#dataDirectory = argv[argv.lastIndexOf('--data-dir') + 1] ?? '';
    const program = [process.execPath, HEADLESS, ...argv];
    const shell = ['sh', '-c', `${prefix ?? ''}; exec "$@"`, 'sh', ...program];
    const [file = '', ...words] = prefix === undefined ? program : shell;
    this.child = spawn(file, words, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...environment },
    });
    this.child.stdout?.on('data', (part: Buffer) => (this.out += part.toString()));
    this.child.stderr?.on('data', (part: Buffer) => (this.err += part.toString()));
    this.exited = once(this.child, 'close').then(([code]) => code as number | null);
  }

  /** Waits for the ready line. @throws with what it printed when it ends instead */
  async ready(): Promise<{ readonly dns: string; readonly http: string }> {
    const line = await this.prints(/^ready .*\n/m, () => this.out);
    const { dns = '', http = '' } = /dns=(?<dns>\S+) http=(?<http>\S+)/.exec(line)?.groups ?? {};
    await learnToken(`http://${http}`, this.#dataDirectory);
    return { dns, http: `http://${http}` };
  }

  /** Waits until the pattern is in stderr, or in what `where` reads. */
  async prints(pattern: RegExp, where = () => this.err): Promise<string> {
    const ended = this.exited.then(() => true);
    for (;;) {
      const found = pattern.exec(where());
      if (found) return found[0];
      const isOver = await Promise.race([
        ended,
        new Promise<false>((r) => setTimeout(r, 10, false)),
      ]);
      if (isOver && !pattern.test(where())) throw new Error(`ended: ${this.out}${this.err}`);
    }
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}

export interface Home {
  readonly folder: string;
  readonly configFile: string;
  readonly dataDirectory: string;
  /** `sluice run` on this home; killed after the test if it still runs. */
  run(...more: string[]): Sluice;
  /** The same with other surroundings. */
  runIn(surroundings: Surroundings, ...more: string[]): Sluice;
}

/** A settings file and a data folder that ask nobody outside. @param extra  more YAML */
export async function makeHome(t: TestContext, extra = '', http = LOCAL_HTTP): Promise<Home> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  const configFile = join(folder, 'sluice.yaml');
  const dataDirectory = join(folder, 'data');
  const started: Sluice[] = [];
  t.after(async () => {
    for (const one of started) {
      one.kill('SIGKILL');
      await one.exited;
    }
    await rm(folder, { recursive: true, force: true });
  });
  const runIn = (surroundings: Surroundings, ...more: string[]): Sluice => {
    const argv = ['run', '--config', configFile, '--data-dir', dataDirectory, ...more];
    const one = new Sluice(argv, surroundings);
    started.push(one);
    return one;
  };
  await writeFile(join(folder, 'list.txt'), 'listed.example\n');
  await writeFile(configFile, settings(folder, extra, http));
  return {
    folder,
    configFile,
    dataDirectory,
    run: (...more) => runIn({}, ...more),
    runIn,
  };
}

/** Port 1 of this machine answers nobody. */
export function settings(folder: string, extra = '', http = LOCAL_HTTP): string {
  return `# a comment of mine
dns: { listen: ["127.0.0.1:0"], upstreams: ["127.0.0.1:1"], bootstrap: ["127.0.0.1:1"] }
lists: [{ name: Test, url: "file://${folder}/list.txt" }]
${http}
${extra}`;
}
