/** Starts the real desktop app under Playwright, and finds out whether that can be done here. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { _electron, type ElectronApplication, type Page } from 'playwright-core';
import { build, isBuilt } from '../../tools/build.ts';
import {
  findElectron,
  runtimeEnvironment,
  runtimeSwitches,
  type ElectronRuntime,
} from '../../tools/electron-runtime.ts';
import type { TrayView } from '../../main/electron/tray-model.ts';
import { de } from '../../main/texts/de/index.ts';
import { en } from '../../main/texts/en/index.ts';
import type { WireError } from '../../main/contract/errors.ts';
import type {
  MethodInput,
  MethodName,
  MethodOutput,
  Status,
} from '../../main/contract/methods/methods.ts';
import { missingTools } from '../support/tools.ts';
import type { VirtualDisplay } from './virtual-display.ts';

export const ROOT = resolve(import.meta.dirname, '../..');
/** Pictures for people to look at; not in the repository. */
export const PICTURES = join(ROOT, 'test-results');

const START_MS = 30_000;

/** What every desktop test needs, or why it is not to be had. */
export async function desktopRuntime(): Promise<ElectronRuntime | { readonly reason: string }> {
  const missing = missingTools('xvfb-run', 'dbus-run-session');
  if (missing !== false) return { reason: missing };
  return findElectron();
}

/** Builds what is missing or stale, as `npm start` does. */
export async function ensureBuilt(): Promise<void> {
  if (!(await isBuilt())) await build(() => undefined);
}

export interface DesktopSettings {
  readonly upstream: string;
  readonly blocked: readonly string[];
}

/** Writes settings and a list into the folder. @returns arguments for the app */
export async function prepareFolder(folder: string, settings: DesktopSettings): Promise<string[]> {
  const list = join(folder, 'list.txt');
  await writeFile(list, settings.blocked.map((name) => `0.0.0.0 ${name}\n`).join(''));
  const config = {
    dns: { listen: ['127.0.0.1:0'], upstreams: [settings.upstream], bootstrap: ['127.0.0.1:9'] },
    lists: [{ name: 'Test list', url: `file://${list}` }],
    http: { listen: '127.0.0.1:0' },
  };
  const file = join(folder, 'sluice.yaml');
  await writeFile(file, JSON.stringify(config));
  return ['--data-dir', join(folder, 'data'), '--config', file];
}

/** In either language. */
const IS_ON = new RegExp(`${en.activity.isOn}|${de.activity.isOn}`);

/** A running desktop app. */
export class DesktopApp {
  readonly electron: ElectronApplication;
  /** Everything it printed so far. */
  readonly output: string[] = [];
  #page: Page | null = null;

  private constructor(electron: ElectronApplication) {
    this.electron = electron;
    const { stdout, stderr } = electron.process();
    for (const stream of [stdout, stderr]) {
      stream?.on('data', (bytes: Buffer) => this.output.push(bytes.toString()));
    }
  }

  /** @param env  set in addition for this app */
  static async start(
    runtime: ElectronRuntime,
    display: VirtualDisplay,
    args: readonly string[],
    env: Record<string, string> = {},
  ): Promise<DesktopApp> {
    const electron = await _electron.launch({
      executablePath: runtime.executable,
      args: [...runtimeSwitches(), ROOT, ...args],
      env: definedOnly({ ...runtimeEnvironment(runtime), ...display.env, ...env }),
      // Else Playwright would hold the page to light whatever the system says.
      colorScheme: null,
      timeout: START_MS,
    });
    const app = new DesktopApp(electron);
    try {
      app.#page = await electron.firstWindow({ timeout: START_MS });
      await app.page.getByRole('heading', { name: IS_ON }).waitFor();
      return app;
    } catch (error) {
      electron.process().kill('SIGKILL');
      throw new Error(`the app did not come up; it said: ${app.output.join('')}`, { cause: error });
    }
  }

  get page(): Page {
    if (this.#page === null) throw new Error('the window is not open');
    return this.#page;
  }

  get pid(): number {
    return this.electron.process().pid ?? 0;
  }

  /** Calls a method through the window's own bridge. Throws with the error's code. */
  async call<Name extends MethodName>(
    name: Name,
    input: MethodInput<Name>,
  ): Promise<MethodOutput<Name>> {
    const answer = await this.page.evaluate(
      ([method, argument]) => (globalThis as unknown as Bridge).sluice.call(method, argument),
      [name, input] as const,
    );
    if (!answer.ok) throw new Error(`${name}: ${answer.error.code} ${answer.error.message}`);
    return answer.value as MethodOutput<Name>;
  }

  status(): Promise<Status> {
    return this.call('status', {});
  }

  async dnsPort(): Promise<number> {
    const { listening } = await this.status();
    return Number(listening[0]?.split(':').at(-1));
  }

  trayView(): Promise<TrayView> {
    return this.electron.evaluate(() => (globalThis as unknown as Shell).sluiceDesktop.trayView);
  }

  clickTray(id: string): Promise<void> {
    return this.electron.evaluate(
      (_electronModule, itemId) => (globalThis as unknown as Shell).sluiceDesktop.clickTray(itemId),
      id,
    );
  }

  async picture(name: string): Promise<void> {
    await mkdir(PICTURES, { recursive: true });
    await this.page.screenshot({ path: join(PICTURES, `${name}.png`) });
  }

  /** Resolves with the exit code once the process has ended. */
  ended(): Promise<number | null> {
    const child = this.electron.process();
    if (child.exitCode !== null) return Promise.resolve(child.exitCode);
    return new Promise((done) => child.once('exit', done));
  }

  /** Quits as from the tray. */
  async quit(): Promise<number | null> {
    const ended = this.ended();
    await this.clickTray('quit').catch(() => undefined); // the process may be gone before it replies
    return await ended;
  }
}

type Answer = { readonly ok: true; readonly value: unknown } | { ok: false; error: WireError };

interface Bridge {
  readonly sluice: { call(name: string, input: object): Promise<Answer> };
}
interface Shell {
  readonly sluiceDesktop: { trayView: TrayView; clickTray(id: string): Promise<void> };
}

function definedOnly(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}
