/**
 * Entry of the desktop app: Electron's main process, which hosts the program and its threads.
 *
 * Order: one instance per data folder → the program starts and answers → window and tray. Leaving
 * goes the other way, within a bound: log drained, ports free, process gone. Exit codes are those
 * of the command line: 2 for a bad setting, 3 for a port that cannot be bound, 1 otherwise.
 */
import { app, dialog, Menu, powerMonitor } from 'electron';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compose, type Program } from '../app/program.ts';
import { AppError, lineOf, type ErrorCode } from '../contract/errors.ts';
import { defaultDataDirectory } from '../api/cli/data-directory.ts';
import { isDiskTrouble, makeFolder } from '../control/process/data-folder.ts';
import { Printer } from '../control/process/printer.ts';
import { rendererPath, resourcePath } from '../control/process/resources.ts';
import { UncaughtErrors } from '../control/process/uncaught-errors.ts';
import { Desktop } from './desktop.ts';
import { readStartOptions } from './start-options.ts';
import { confinePages, registerUiScheme } from './window.ts';

/** Longest wait for the program to drain its log and close its sockets. */
const CLOSE_MS = 8_000;

/** A signal that comes so much later than the first insists: the process ends at once. */
const INSISTS_MS = 1_000;

const EXIT_CODES: Partial<Record<ErrorCode, number>> = {
  CONFIG_INVALID: 2,
  DATA_FOLDER_UNUSABLE: 2,
  PORT_IN_USE: 3,
  PORT_FORBIDDEN: 3,
  ADDRESS_UNAVAILABLE: 3,
};

const printer = new Printer();
const uncaught = new UncaughtErrors({ say, fail: (error) => void fail(error) });
const options = readStartOptions(process.argv.slice(1), process.cwd());
// The same folder as without a window, so that the command line finds this instance too.
const dataDirectory = options.dataDirectory ?? defaultDataDirectory();
let starting: Promise<Program> | null = null;
let desktop: Desktop | null = null;
let isEnding = false;

function begin(): void {
  try {
    makeFolder(dataDirectory);
  } catch (error) {
    // A full or read-only disk does not keep DNS from being answered; compose.ts tells of it.
    if (!isDiskTrouble(error)) {
      void fail(error);
      return;
    }
  }
  // The lock of the single instance lies in userData; Chromium's own files go one level down.
  app.setPath('userData', dataDirectory);
  app.setPath('sessionData', join(dataDirectory, 'chromium'));
  if (!app.requestSingleInstanceLock()) {
    say('Sluice is running already: its window is brought to the front');
    app.exit(0);
    return;
  }
  // When a session ends, helper processes get the signal too. Chromium would take the loss of one
  // of them for a broken graphics driver and abort, before the log is drained.
  app.commandLine.appendSwitch('disable-gpu-process-crash-limit');
  registerUiScheme();
  app.on('second-instance', () => desktop?.showWindow());
  app.on('activate', () => desktop?.showWindow());
  // The program outlives its window; desktop.ts decides when that ends it.
  app.on('window-all-closed', () => undefined);
  app.on('before-quit', (event) => {
    event.preventDefault();
    void end(0);
  });
  // Without a listener Electron would put up a dialog and go on in an unknown state.
  uncaught.watch();
  starting = start();
  // DNS goes on without the window.
  starting.then(
    (program) =>
      show(program).catch((error: unknown) => {
        uncaught.take(error);
      }),
    fail,
  );
}

/** Brings the program up. DNS is answered from here on, with or without a window. */
async function start(): Promise<Program> {
  const program = await compose({
    dataDirectory,
    portFallback: true,
    remembersTakeover: true,
    onProgress: say,
    ...(options.configFile !== null && { configFile: options.configFile }),
    ...(options.listen.length > 0 && { listen: options.listen }),
  });
  uncaught.answers(program.service);
  const http = await openHttp(program);
  const doors = [`dns=${program.listening.join(',')}`, ...(http === null ? [] : [`http=${http}`])];
  printer.tell(`ready ${doors.join(' ')}`);
  const [, address, port] = /^(.*):(\d+)$/.exec(program.listening[0] ?? '') ?? [];
  const plain = (address ?? '').replace(/^\[|\]$/g, '');
  if (port !== undefined) say(`try: dig @${plain} -p ${port} doubleclick.net`);
  return program;
}

/** The command line and browsers come in here; the window does not need it. */
async function openHttp(program: Program): Promise<string | null> {
  try {
    return await program.openHttp({
      portFallback: true,
      ...(options.http !== null && { listen: options.http }),
    });
  } catch (error) {
    say(messageOf(error));
    return null;
  }
}

async function show(program: Program): Promise<void> {
  await app.whenReady();
  heedSignals();
  // Its clock stood still: connections to upstreams lead nowhere any more.
  powerMonitor.on('resume', () => {
    program.service.networkChanged();
  });
  // Electron's own resolver would ask DNS servers past the system, and past Sluice.
  app.configureHostResolver({ enableBuiltInResolver: false, secureDnsMode: 'off' });
  confinePages(rendererPath());
  if (process.platform !== 'darwin') Menu.setApplicationMenu(null);
  if (hasToEnd()) return;
  const opened = await Desktop.open({
    service: program.service,
    directory: dataDirectory,
    preloadFile: join(dirname(fileURLToPath(import.meta.url)), 'preload.cjs'),
    iconPath: (name) => resourcePath(`icons/${name}`),
    isHidden: options.isHidden,
    say,
  });
  if (hasToEnd()) {
    opened.close();
    return;
  }
  desktop = opened;
  // For the desktop test, which cannot click a tray: the same model, and the same clicks.
  if (!app.isPackaged) Object.assign(globalThis, { sluiceDesktop: desktop });
}

/**
 * Ends in order at a signal. Only once Electron is ready, since it puts its own handlers up until
 * then: they end the process at a second signal, which often comes together with the first, from
 * the terminal and from whoever started us.
 */
function heedSignals(): void {
  let askedMs: number | null = null;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (askedMs === null) app.quit();
      else if (Date.now() - askedMs > INSISTS_MS) app.exit(1);
      askedMs ??= Date.now();
    });
  }
}

/** Asked anew after each wait, during which the end may have come. */
function hasToEnd(): boolean {
  return isEnding;
}

/** Says what is wrong and ends; a person who clicked an icon has no terminal and sees a box. */
async function fail(error: unknown): Promise<void> {
  const code = error instanceof AppError ? error.code : 'INTERNAL';
  const message = error instanceof AppError ? lineOf(error) : messageOf(error);
  say(message);
  if (app.isPackaged && !isEnding) {
    await app.whenReady();
    await dialog.showMessageBox({ type: 'error', title: 'Sluice', message });
  }
  await end(EXIT_CODES[code] ?? 1);
}

/** Ends window, program and process, in this order. The second call does nothing. */
async function end(code: number): Promise<void> {
  if (isEnding) return;
  isEnding = true;
  desktop?.close();
  const bound = setTimeout(() => {
    say('stopping took too long: the last log records may be lost');
    app.exit(code);
  }, CLOSE_MS);
  try {
    await (await starting)?.close();
  } catch (error) {
    // One that never came up has said so already.
    if (code === 0) say(messageOf(error));
  }
  clearTimeout(bound);
  app.exit(code);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function say(line: string): void {
  printer.say(line);
}

begin();
