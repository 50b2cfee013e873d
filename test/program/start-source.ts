/**
 * Starts the real program from its sources, as `sluice ARGS`, and collects what it prints.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

export const HEADLESS = new URL('../../main/headless.ts', import.meta.url).pathname;

export class Sluice {
  readonly child: ChildProcess;
  out = '';
  err = '';
  readonly exited: Promise<number | null>;

  constructor(argv: readonly string[]) {
    this.child = spawn(process.execPath, [HEADLESS, ...argv], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout?.on('data', (part: Buffer) => (this.out += part.toString()));
    this.child.stderr?.on('data', (part: Buffer) => (this.err += part.toString()));
    this.exited = once(this.child, 'close').then(([code]) => code as number | null);
  }

  /** Waits for the ready line. @throws with what it printed when it ends instead */
  async ready(): Promise<{ readonly dns: string; readonly http: string }> {
    const line = await this.prints(/^ready .*\n/m, () => this.out);
    const { dns = '', http = '' } = /dns=(?<dns>\S+) http=(?<http>\S+)/.exec(line)?.groups ?? {};
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
}

/** A settings file and a data folder that ask nobody outside. @param extra  more YAML */
export async function makeHome(t: TestContext, extra = ''): Promise<Home> {
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
  await writeFile(join(folder, 'list.txt'), 'listed.example\n');
  await writeFile(configFile, settings(folder, extra));
  return {
    folder,
    configFile,
    dataDirectory,
    run(...more) {
      const one = new Sluice(['run', '--config', configFile, '--data-dir', dataDirectory, ...more]);
      started.push(one);
      return one;
    },
  };
}

/** Port 1 of this machine answers nobody. */
export function settings(folder: string, extra = ''): string {
  return `# a comment of mine
dns: { listen: ["127.0.0.1:0"], upstreams: ["127.0.0.1:1"], bootstrap: ["127.0.0.1:1"] }
lists: [{ name: Test, url: "file://${folder}/list.txt" }]
http: { listen: "127.0.0.1:0" }
${extra}`;
}
