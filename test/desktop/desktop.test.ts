/**
 * The real desktop app on a virtual screen: real DNS queries in, rows and counts in the window, the
 * switch from tray and window, one instance, a shut-in page, and an end that leaves nothing.
 */
import Sqlite from 'better-sqlite3';
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runtimeEnvironment, runtimeSwitches } from '../../tools/electron-runtime.ts';
import { trayItem } from '../../main/electron/tray-model.ts';
import { de } from '../../main/texts/de/index.ts';
import { en } from '../../main/texts/en/index.ts';
import { DesktopApp, ROOT, desktopRuntime, ensureBuilt, prepareFolder } from './desktop-app.ts';
import { UPSTREAM_ADDRESS, ask, askMany, openUpstream, type FakeUpstream } from './dns-client.ts';
import { openDisplay, type VirtualDisplay } from './virtual-display.ts';

const BLOCKED = 'ads.example.org';
const FREE = 'free.example.net';
/** More than the ring and one batch hold. */
const FLOOD = 6_000;
const WINDOW_WAIT = { timeout: 10_000 };

/** Run in the page: what it can see and reach. A text, since Node has no types for a page. */
const LOOK_AROUND = `(async () => ({
  origin: location.origin,
  globals: ['require', 'process', 'module', 'Buffer'].filter((name) => name in globalThis),
  bridge: Object.keys(sluice).sort(),
  opened: window.open('https://example.com/'),
  location: (await navigator.permissions.query({ name: 'geolocation' })).state,
  notify: await Notification.requestPermission(),
  fetched: await fetch('https://example.com/').then(() => 'yes', () => 'no'),
}))()`;

const runtime = await desktopRuntime();
const OPTIONS = { skip: 'reason' in runtime ? runtime.reason : false, timeout: 60_000 };

let folder = '';
let args: string[] = [];
let display: VirtualDisplay;
let upstream: FakeUpstream;
let app: DesktopApp;
let port = 0;
/** What must be closed at the end, last first, however far the start came. */
const closers: (() => Promise<unknown>)[] = [];

before(async () => {
  if ('reason' in runtime) return;
  await ensureBuilt();
  folder = await mkdtemp(join(tmpdir(), 'sluice-desktop-'));
  closers.push(() => rm(folder, { recursive: true, force: true }));
  display = await openDisplay();
  closers.push(() => display.close());
  upstream = await openUpstream();
  closers.push(() => upstream.close());
  args = await prepareFolder(folder, { upstream: upstream.endpoint, blocked: [BLOCKED] });
  await start();
  closers.push(() => app.quit());
});

after(async () => {
  for (const close of closers.reverse()) await close();
});

test('answers real queries and shows them, blocked ones marked', OPTIONS, async () => {
  assert.deepEqual(await ask(port, BLOCKED), ['0.0.0.0']);
  assert.deepEqual(await ask(port, `deep.below.${BLOCKED}`), ['0.0.0.0']);
  assert.deepEqual(await ask(port, FREE), [UPSTREAM_ADDRESS]);
  const row = app.page.getByRole('row').filter({ hasText: `deep.below.${BLOCKED}` });
  await row.getByText(en.queries.outcomes.blocked).first().waitFor(WINDOW_WAIT);
  const free = app.page.getByRole('row').filter({ hasText: FREE });
  await free.getByText(en.queries.outcomes.forwarded).first().waitFor(WINDOW_WAIT);
  const { totals } = await app.status();
  assert.equal(totals.blocked, 2);
  assert.equal(totals.forwarded, 1);
  assert.deepEqual(upstream.asked, [FREE]);
});

test('looks right in light and dark', OPTIONS, async () => {
  for (const theme of ['light', 'dark'] as const) {
    await app.electron.evaluate(({ nativeTheme }, source) => {
      nativeTheme.themeSource = source;
    }, theme);
    await seen(`matchMedia('(prefers-color-scheme: ${theme})').matches`);
    await app.picture(`desktop-${theme}`);
  }
});

test('pauses from the tray, which shows the end, and the window follows', OPTIONS, async () => {
  await app.clickTray('pause-15');
  const view = await app.trayView();
  assert.equal(view.icon, 'paused');
  const { label } = trayItem(view, 'status');
  assert.match(label, /^Paused until \d\d:\d\d$/);
  await app.page.getByRole('heading', { name: label }).waitFor(WINDOW_WAIT);
  assert.deepEqual(await ask(port, BLOCKED), [UPSTREAM_ADDRESS]);
  await app.picture('desktop-paused');
});

test('resumes and pauses from the window, and the tray follows', OPTIONS, async () => {
  await app.page.getByRole('button', { name: en.activity.resume }).click();
  await app.page.getByRole('heading', { name: en.activity.isOn }).waitFor(WINDOW_WAIT);
  assert.deepEqual(await ask(port, BLOCKED), ['0.0.0.0']);
  await trayIcon('on');
  await app.page.getByRole('button', { name: '5 min', exact: true }).click();
  await trayIcon('paused');
  await app.clickTray('resume');
  assert.equal((await app.trayView()).icon, 'on');
});

test('off means that everything is let through', OPTIONS, async () => {
  await app.clickTray('filtering');
  assert.equal((await app.trayView()).icon, 'off');
  assert.deepEqual(await ask(port, `other.${BLOCKED}`), [UPSTREAM_ADDRESS]);
  await app.page.getByRole('heading', { name: en.activity.isOff }).waitFor(WINDOW_WAIT);
  await app.clickTray('filtering');
  assert.deepEqual(await ask(port, `other.${BLOCKED}`), ['0.0.0.0']);
});

test('a stalled log costs counted lines, never an answer', OPTIONS, async () => {
  const database = new Sqlite(join(folder, 'data', 'log', 'queries.db'));
  database.exec('BEGIN IMMEDIATE');
  try {
    assert.equal(await askMany(port, BLOCKED, FLOOD), FLOOD);
    const { totals } = await app.status();
    assert.ok(totals.logDropped > 0, 'nothing was dropped');
    assert.equal(totals.logged + totals.logDropped, totals.queries);
    const count = totals.logDropped.toLocaleString('en');
    await app.page.getByText(`${count} log lines were dropped`).waitFor(WINDOW_WAIT);
    await app.picture('desktop-dropped');
  } finally {
    database.exec('ROLLBACK');
    database.close();
  }
});

test('the page is shut in', OPTIONS, async () => {
  const preferences = await app.electron.evaluate(({ BrowserWindow }) => {
    const page = BrowserWindow.getAllWindows()[0]?.webContents as unknown as {
      getLastWebPreferences(): Record<string, unknown>;
    };
    return page.getLastWebPreferences();
  });
  assert.equal(preferences['sandbox'], true);
  assert.equal(preferences['contextIsolation'], true);
  assert.equal(preferences['nodeIntegration'], false);
  assert.equal(preferences['webSecurity'], true);
  const found = await app.page.evaluate(LOOK_AROUND);
  assert.deepEqual(found, {
    origin: 'app://sluice',
    globals: [],
    bridge: ['call', 'subscribe', 'upload'],
    opened: null,
    location: 'denied',
    notify: 'denied',
    fetched: 'no',
  });
  await app.page.evaluate(`location.href = 'https://example.com/'`);
  assert.deepEqual(await ask(port, BLOCKED), ['0.0.0.0']);
  assert.match(app.page.url(), /^app:\/\/sluice\//);
});

test('a backup goes where the person says, and comes back by choosing it', OPTIONS, async () => {
  const file = join(folder, 'saved.json');
  // In place of the system's dialog, which asks where to.
  await app.electron.evaluate(({ session }, path) => {
    session.defaultSession.once('will-download', (_event, item) => {
      item.setSavePath(path);
    });
  }, file);
  const { page } = app;
  await page.evaluate(`location.hash = '#/backup'`);
  await page.getByRole('button', { name: en.backup.saveNow, exact: true }).click();
  await page.getByText(/^Downloaded sluice-.*\.json\.$/).waitFor(WINDOW_WAIT);
  await waitFor(async () => (await readFile(file, 'utf8').catch(() => '')).endsWith('}\n'));
  await page.getByLabel(en.backup.restoreFrom).setInputFiles(file);
  await page.getByRole('button', { name: en.backup.restoreNow }).click();
  await page.getByRole('button', { name: en.backup.replaceAll }).click();
  await page.getByText(/^Restored the backup from .*, with 1 list\.$/).waitFor(WINDOW_WAIT);
  assert.deepEqual(await ask(port, BLOCKED), ['0.0.0.0']);
  await page.evaluate(`location.hash = '#/'`);
});

test('an error that nobody caught in the main process ends nothing', OPTIONS, async () => {
  await app.electron.evaluate(() => {
    setTimeout(() => {
      throw new Error('thrown on purpose');
    }, 0);
    void Promise.reject(new Error('rejected on purpose'));
  });
  await waitFor(async () => {
    const { degradedReasons } = await app.status();
    return degradedReasons.some((reason) => /2 times, .* on purpose/.test(reason));
  });
  assert.deepEqual(await ask(port, BLOCKED), ['0.0.0.0']);
});

test('a second start ends at once and brings the window up', OPTIONS, async () => {
  assert.ok(!('reason' in runtime));
  await app.electron.evaluate(({ BrowserWindow }) => {
    BrowserWindow.getAllWindows()[0]?.hide();
  });
  const second = spawn(runtime.executable, [...runtimeSwitches(), ROOT, ...args], {
    env: { ...runtimeEnvironment(runtime), ...display.env },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  second.stderr.on('data', (bytes: Buffer) => (said += bytes.toString()));
  const [code] = (await once(second, 'exit')) as [number | null];
  assert.equal(code, 0);
  assert.match(said, /running already/);
  await visibility(true);
  const count = await app.electron.evaluate(
    ({ BrowserWindow }) => BrowserWindow.getAllWindows().length,
  );
  assert.equal(count, 1);
});

test('a page that crashes is loaded again, and DNS goes on meanwhile', OPTIONS, async () => {
  const reloaded = app.electron.evaluate(async ({ BrowserWindow }) => {
    const page = BrowserWindow.getAllWindows()[0]!.webContents;
    const loaded = new Promise<void>((resolve) => {
      page.once('did-finish-load', () => {
        resolve();
      });
    });
    page.forcefullyCrashRenderer();
    await loaded;
  });
  assert.deepEqual(await ask(port, BLOCKED), ['0.0.0.0']);
  await reloaded;
  // Playwright has given this page up; the main process still sees it.
  await waitFor(async () => {
    const text = await app.electron.evaluate(({ BrowserWindow }): Promise<unknown> => {
      const page = BrowserWindow.getAllWindows()[0]!.webContents;
      return page.executeJavaScript('document.body.innerText');
    });
    return String(text).includes('Protection is on');
  });
});

test('quitting leaves no process and loses no log line', OPTIONS, async () => {
  const before = await app.electron.evaluate(({ BrowserWindow }) => {
    BrowserWindow.getAllWindows()[0]?.setSize(900, 650);
    return BrowserWindow.getAllWindows()[0]?.getSize();
  });
  await ask(port, `last.${BLOCKED}`);
  assert.equal(await app.quit(), 0);
  assert.deepEqual(await processesOf(folder), []);
  await start();
  const size = await app.electron.evaluate(({ BrowserWindow }) =>
    BrowserWindow.getAllWindows()[0]?.getSize(),
  );
  assert.deepEqual(size, before);
  const found = await app.call('queries.search', { text: `last.${BLOCKED}` });
  assert.equal(found.rows.length, 1);
});

test('without a tray, closing the window ends the app and says so before', OPTIONS, async () => {
  assert.match(app.output.join(''), /no system tray was found: closing the window ends Sluice/);
  const ended = app.ended();
  await closeWindow();
  assert.equal(await ended, 0);
});

test('with a tray, closing the window hides it and DNS goes on', OPTIONS, async () => {
  const tools = join(folder, 'bin');
  await mkdir(tools);
  await writeFile(join(tools, 'dbus-send'), '#!/bin/sh\necho "   variant boolean true"\n');
  await chmod(join(tools, 'dbus-send'), 0o755);
  await start({ PATH: `${tools}:${process.env['PATH'] ?? ''}` });
  await closeWindow();
  await visibility(false);
  assert.deepEqual(await ask(port, BLOCKED), ['0.0.0.0']);
  await app.clickTray('open');
  await visibility(true);
});

test('the language of the settings is that of tray and window', OPTIONS, async () => {
  await app.quit();
  const file = join(folder, 'sluice.yaml');
  const settings = await readFile(file, 'utf8');
  await writeFile(file, settings.replace('{', '{"language": "de", '));
  await start();
  assert.equal(trayItem(await app.trayView(), 'open').label, de.tray.open);
  await app.page.locator('html[lang=de]').waitFor(WINDOW_WAIT);
  await app.page.getByRole('heading', { name: de.activity.isOn }).waitFor(WINDOW_WAIT);
});

async function start(env: Record<string, string> = {}): Promise<void> {
  assert.ok(!('reason' in runtime));
  app = await DesktopApp.start(runtime, display, args, env);
  port = await app.dnsPort();
}

/** As a click on the window's own button, which Playwright's page.close() is not. */
async function closeWindow(): Promise<void> {
  await app.electron.evaluate(({ BrowserWindow }) => {
    setImmediate(() => BrowserWindow.getAllWindows()[0]?.close());
  });
}

/** As the window system has it: to a page under Playwright its window is always visible. */
function visibility(isVisible: boolean): Promise<void> {
  return waitFor(() =>
    app.electron
      .evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]!.isVisible())
      .then((is) => is === isVisible),
  );
}

/** Waits until an expression is true in the page. (waitForFunction needs eval, which it forbids.) */
function seen(expression: string): Promise<void> {
  return waitFor(() => app.page.evaluate<boolean>(expression));
}

function trayIcon(icon: string): Promise<void> {
  return waitFor(async () => (await app.trayView()).icon === icon);
}

/** Polls something that no event tells. */
async function waitFor(isSo: () => Promise<boolean>): Promise<void> {
  const endMs = Date.now() + WINDOW_WAIT.timeout;
  while (!(await isSo())) {
    if (Date.now() > endMs) throw new Error(`not so within ${String(WINDOW_WAIT.timeout)} ms`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Processes that have the folder on their command line. */
async function processesOf(path: string): Promise<string[]> {
  const commands: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    if (command.includes(path)) commands.push(command.replaceAll('\0', ' '));
  }
  return commands;
}
