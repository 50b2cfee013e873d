/**
 * Entry without Electron, and the command `sluice`: `run` here, everything else in api/cli/cli.ts.
 *
 * `run` loads as little as it can before DNS answers. It prints progress on stderr and exactly one
 * line on stdout, `ready dns=… http=…`, once everything answers. Exit codes: 0 stopped as asked,
 * 2 wrong settings or arguments, 3 a port cannot be bound, 1 anything else.
 */
import { isatty } from 'node:tty';
import { parseArgs } from 'node:util';
import type { Program } from './app/program.ts';
import { AppError, lineOf, type ErrorCode } from './contract/errors.ts';
import { developmentVariable } from './contract/installed.ts';
import { defaultDataDirectory } from './api/cli/data-directory.ts';
import { keepCompiledCode } from './control/process/code-cache.ts';
import { boundMemory, MemoryKeeper } from './control/process/memory-keeper.ts';
import { Printer } from './control/process/printer.ts';
import { UncaughtErrors } from './control/process/uncaught-errors.ts';

/** Time after which a stop that hangs is given up. */
const STOP_MS = 20_000;
/** A signal that comes again within this time is the same wish. */
const REPEAT_MS = 1_000;

const EXIT_CODES: Partial<Record<ErrorCode, number>> = {
  CONFIG_INVALID: 2,
  DATA_FOLDER_UNUSABLE: 2,
  ARGUMENT_INVALID: 2,
  PORT_IN_USE: 3,
  PORT_FORBIDDEN: 3,
  ADDRESS_UNAVAILABLE: 3,
};

/** Of `run` only: other commands end when nobody reads them. */
let printer: Printer | undefined;

interface RunOptions {
  readonly dataDirectory: string;
  readonly configFile?: string;
  readonly listen?: readonly string[];
  readonly http?: string;
  readonly portFallback: boolean;
}

/** SQLite's prebuilt add-on needs this Node; on an older one it ends the process without a word. */
const NODE_MAJOR_MIN = 22;

/** @throws AppError ARGUMENT_INVALID when this Node is too old and no add-on of its own is named */
function requireNode(): void {
  const isOld = Number.parseInt(process.versions.node, 10) < NODE_MAJOR_MIN;
  if (!isOld || developmentVariable('SLUICE_SQLITE_BINDING') !== undefined) return;
  throw new AppError(
    'ARGUMENT_INVALID',
    `Node ${process.versions.node} is too old; use Node 22 or newer, or "npm run headless"`,
  );
}

/** Runs in the foreground until a signal; ends the process itself only when something failed. */
async function run(argv: readonly string[]): Promise<void> {
  printer = new Printer();
  const uncaught = new UncaughtErrors({ say, fail });
  uncaught.watch();
  const signals = new StopSignals();
  let program: Program | undefined;
  try {
    requireNode();
    const options = readRunOptions(argv);
    keepCompiledCode(options.dataDirectory);
    boundMemory();
    const memory = new MemoryKeeper();
    const { compose } = await import('./app/program.ts');
    const made = await compose({
      ...options,
      onProgress: say,
      onTable: () => {
        memory.settle();
      },
    });
    program = made;
    uncaught.answers(made.service);
    const http = await openHttp(made, options);
    if (!signals.started(made)) return;
    process.on('SIGHUP', () => {
      void onHangup(made, signals);
    });
    printer.onLost((sentence) => {
      made.service.setNotice('output', sentence);
    });
    announce(made, http);
    memory.start();
  } catch (error) {
    await program?.close().catch(() => undefined); // the first error is the one to tell
    fail(error);
  }
}

/** @throws AppError ARGUMENT_INVALID for what `run` does not know, CONFIG_INVALID for an address */
function readRunOptions(argv: readonly string[]): RunOptions {
  const { values } = parseRunArguments(argv);
  for (const listen of [...(values.listen ?? []), ...(values.http ? [values.http] : [])]) {
    if (!/^(\d{1,3}(\.\d{1,3}){3}|\[[0-9a-fA-F:.]+(%[^\]\s]+)?\]):\d{1,5}$/.test(listen)) {
      throw new AppError(
        'ARGUMENT_INVALID',
        `${listen} is no address to listen on: write an address and a port, as 127.0.0.1:53`,
      );
    }
  }
  return {
    dataDirectory: values['data-dir'] ?? defaultDataDirectory(),
    ...(values.config !== undefined && { configFile: values.config }),
    ...(values.listen && { listen: values.listen }),
    ...(values.http !== undefined && { http: values.http }),
    portFallback: values['port-fallback'] ?? false,
  };
}

function parseRunArguments(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      strict: true,
      allowPositionals: false,
      options: {
        config: { type: 'string', short: 'c' },
        'data-dir': { type: 'string', short: 'd' },
        listen: { type: 'string', multiple: true },
        http: { type: 'string' },
        'port-fallback': { type: 'boolean' },
      },
    });
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
    throw new AppError('ARGUMENT_INVALID', `${said}; see "sluice run --help"`, error);
  }
}

function openHttp(program: Program, options: RunOptions): Promise<string | null> {
  return program.openHttp({
    ...(options.http !== undefined && { listen: options.http }),
    portFallback: options.portFallback,
  });
}

/** The line that others wait for, and for people a line to try. */
function announce(program: Program, http: string | null): void {
  const doors = [`dns=${program.listening.join(',')}`, ...(http === null ? [] : [`http=${http}`])];
  printer?.tell(`ready ${doors.join(' ')}`);
  const first = /^(.*):(\d+)$/.exec(program.listening[0] ?? '');
  if (!first) return;
  const address = (first[1] ?? '').replace(/^\[|\]$/g, '').replace(/^0\.0\.0\.0$/, '127.0.0.1');
  const port = first[2] === '53' ? '' : ` -p ${first[2] ?? ''}`;
  say(`try: dig @${address === '::' ? '::1' : address}${port} doubleclick.net`);
  if (http !== null) announceWindow(http);
}

function announceWindow(http: string): void {
  say(
    `window: http://${http.replace(/^0\.0\.0\.0:/, '127.0.0.1:').replace(/^\[::\]:/, '[::1]:')}/`,
  );
  if (!/^(127\.|\[::1\]:)/.test(http)) {
    say(`others on the network can reach the window at ${http}; it asks them for the token`);
  }
}

/**
 * SIGTERM and SIGINT stop the program cleanly; the second one ends it at once. What starts it may
 * hand on a signal that it was sent itself: the same one soon after is no second.
 */
class StopSignals {
  #program: Program | undefined;
  #asked = '';
  #askedMs = 0;

  constructor() {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) {
      process.on(signal, () => {
        this.ask(signal);
      });
    }
  }

  /** The program stands; if a signal came meanwhile, it is stopped now. @returns whether it stays */
  started(program: Program): boolean {
    this.#program = program;
    if (this.#asked !== '') void stop(program);
    return this.#asked === '';
  }

  ask(why: string): void {
    if (this.#asked === why && performance.now() - this.#askedMs < REPEAT_MS) return;
    if (this.#asked !== '') process.exit(1);
    this.#asked = why;
    this.#askedMs = performance.now();
    say(`${why}: stopping`);
    // Also for a start that hangs.
    setTimeout(() => {
      say(`stopping took longer than ${String(STOP_MS / 1000)} s, giving up`);
      process.exit(1);
    }, STOP_MS).unref();
    if (this.#program) void stop(this.#program);
  }
}

async function stop(program: Program): Promise<void> {
  try {
    await program.close();
    process.exit(0);
  } catch (error) {
    fail(error);
  }
}

/** SIGHUP reads the settings again, or stops the program when its terminal has gone. */
async function onHangup(program: Program, signals: StopSignals): Promise<void> {
  if (process.stdout.isTTY && !isatty(process.stdout.fd)) {
    signals.ask('terminal closed');
    return;
  }
  try {
    await program.service.reload();
    say('settings read again');
  } catch (error) {
    say(`the former settings stay in use: ${messageOf(error)}`);
  }
}

/** One line: what failed, and what a person can do about it. */
function fail(error: unknown): never {
  const code = error instanceof AppError ? error.code : undefined;
  say(error instanceof AppError ? lineOf(error) : messageOf(error));
  process.exit((code && EXIT_CODES[code]) ?? 1);
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*\n\s*/g, ' ');
}

function say(line: string): void {
  printer?.say(line);
}

/** What `run` is given, also by `--data-dir DIR` in front of it; null for every other command. */
function argumentsOfRun(argv: readonly string[]): readonly string[] | null {
  let at = 0;
  while (/^-(d|-data-dir)/.test(argv[at] ?? ''))
    at += /^(-d|--data-dir)$/.test(argv[at] ?? '') ? 2 : 1;
  const rest = [...argv.slice(0, at), ...argv.slice(at + 1)];
  const isHelp = rest.includes('--help') || rest.includes('-h');
  return argv[at] === 'run' && !isHelp ? rest : null;
}

const runArguments = argumentsOfRun(process.argv.slice(2));
if (runArguments !== null) {
  await run(runArguments);
} else {
  const { runCli } = await import('./api/cli/cli.ts');
  process.exitCode = await runCli(process.argv.slice(2));
}
