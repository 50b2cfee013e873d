/**
 * `npm start`: the desktop app when there is a display and an Electron that works, otherwise the
 * program without a window; always says which and why. Builds first when the build is missing or
 * older than the sources.
 *
 * `--headless` forces the latter. All other arguments go on to the program.
 */
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, isBuilt } from './build.ts';
import {
  findElectron,
  runtimeEnvironment,
  runtimeSwitches,
  runtimeWarnings,
  type ElectronRuntime,
} from './electron-runtime.ts';
import './end-with-npm.mjs';
import { say } from './say.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
/** The program's own exit codes: stopped, bad setting, port taken. Others mean it never ran. */
const OWN_EXIT_CODES: readonly (number | null)[] = [0, 2, 3];
/** An Electron that ends so soon after its start could not open a window. */
const STILLBORN_MS = 5_000;

/** Signals closer together than this are one wish. */
const REPEAT_MS = 1_000;

/** How a child ended. */
interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly elapsedMs: number;
}

async function start(args: readonly string[]): Promise<Ending> {
  if (!(await isBuilt())) await build(say);
  const rest = args.filter((argument) => argument !== '--headless');
  const reason = args.includes('--headless') ? '--headless was given' : missingDisplay(process.env);
  if (reason !== null) return runHeadless(reason, rest);
  const runtime = await findElectron();
  if ('reason' in runtime) return runHeadless(runtime.reason, rest);
  const ending = await runDesktop(runtime, rest);
  const isStillborn = !OWN_EXIT_CODES.includes(ending.code) && ending.elapsedMs < STILLBORN_MS;
  if (!isStillborn || ending.signal === 'SIGTERM' || ending.signal === 'SIGINT') return ending;
  return runHeadless('the desktop app could not start', rest);
}

/** Null when windows can be shown; macOS and Windows always can. */
function missingDisplay(env: NodeJS.ProcessEnv): string | null {
  if (process.platform === 'darwin' || process.platform === 'win32') return null;
  return env['DISPLAY'] || env['WAYLAND_DISPLAY'] ? null : 'no display';
}

function runHeadless(reason: string, args: readonly string[]): Promise<Ending> {
  say(`${reason}: running without a window`);
  const entry = join(ROOT, 'dist', 'main', 'headless.js');
  return run(process.execPath, [entry, 'run', '--port-fallback', ...args], process.env);
}

function runDesktop(runtime: ElectronRuntime, args: readonly string[]): Promise<Ending> {
  const switches = runtimeSwitches();
  if (switches.includes('--no-sandbox')) {
    say('started as root: the window runs without the sandbox of Chromium (--no-sandbox)');
  }
  for (const line of runtimeWarnings(runtime)) say(line);
  say(`starting the desktop app (Electron ${runtime.electronVersion})`);
  return run(runtime.executable, [...switches, ROOT, ...args], runtimeEnvironment(runtime));
}

/**
 * Runs a program to its end and hands it the signals that reach us.
 *
 * The child has a process group of its own: Ctrl-C on a terminal goes to all of the foreground
 * group, would end Chromium's helper processes under the program, and reaches us once more through
 * npm. A repeated signal counts only when it comes later, because the program then stops at once.
 */
function run(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<Ending> {
  const startedMs = performance.now();
  let forwardedMs = -Infinity;
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      stdio: 'inherit',
      env,
      detached: process.platform !== 'win32',
    });
    const forward = (signal: NodeJS.Signals): void => {
      const nowMs = performance.now();
      if (nowMs - forwardedMs < REPEAT_MS) return;
      forwardedMs = nowMs;
      child.kill(signal);
    };
    for (const signal of SIGNALS) process.on(signal, forward);
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const name of SIGNALS) process.off(name, forward);
      resolve({ code, signal, elapsedMs: performance.now() - startedMs });
    });
  });
}

const ending = await start(process.argv.slice(2));
// What a shell reports for a process that a signal ended.
process.exitCode =
  ending.code ?? 128 + (ending.signal === null ? 0 : constants.signals[ending.signal]);
