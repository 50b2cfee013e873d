/**
 * The Electron that the npm package `electron` fetches for itself, from GitHub or from the mirror
 * that the person has configured. Called by electron-runtime.ts.
 *
 * Networks exist where that host cannot be reached and where it is silently dropped, so the fetch
 * is watched: no first byte within ten seconds ends it, and so does a later standstill. A failure
 * is remembered for a day, so that the next start does not try again.
 */
import { existsSync } from 'node:fs';
import { mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cacheFolder, lock } from './cache-folder.ts';
import { runTool } from './run-tool.ts';
import { beginStep, say } from './say.ts';

/** How long a fetch may show no byte at all, and how long it may stand still later. */
const PATIENCE = { firstByteMs: 10_000, standstillMs: 30_000, lookEveryMs: 250 } as const;
const REMEMBER_MS = 24 * 3_600_000;

/** Executable of the package's own runtime, or null when it has not been fetched. */
export async function downloadedElectron(folder = packageFolder()): Promise<string | null> {
  const name = await readFile(join(folder, 'path.txt'), 'utf8').catch(() => '');
  if (name === '') return null;
  const path = join(folder, 'dist', name);
  return existsSync(path) ? path : null;
}

/**
 * Fetches the package's own runtime, unless that failed within the last day.
 *
 * @returns  its executable, or null when it cannot be fetched here
 */
export async function downloadElectron(cache: string = cacheFolder()): Promise<string | null> {
  const folder = packageFolder();
  const version = await packageVersion(folder);
  const memory = join(cache, `electron-${version}.unreachable`);
  if (await failedLately(memory)) return null;
  await mkdir(cache, { recursive: true });
  const unlock = await lock(join(cache, `electron-${version}.lock`), () => false);
  try {
    const there =
      (await downloadedElectron(folder)) ?? (await fetchWatched(folder, version, cache));
    if (there === null) await writeFile(memory, new Date().toISOString());
    return there;
  } finally {
    await unlock();
  }
}

async function fetchWatched(
  folder: string,
  version: string,
  cache: string,
): Promise<string | null> {
  const temporary = join(cache, `electron-${version}.download-${String(process.pid)}`);
  await mkdir(temporary, { recursive: true });
  const step = beginStep(`fetching Electron ${version}`);
  const stop = new AbortController();
  const watch = watchGrowth([temporary, join(folder, 'dist')], (bytes) => {
    step.detail(`${String(Math.round(bytes / 1e6))} MB`);
  });
  watch.standstill.then(
    () => {
      stop.abort();
    },
    () => undefined,
  );
  try {
    const env = { ...process.env, TMPDIR: temporary, TEMP: temporary, TMP: temporary };
    const install = join(folder, 'install.js');
    const result = await runTool(process.execPath, [install], { env, signal: stop.signal });
    const path = result.code === 0 ? await downloadedElectron(folder) : null;
    if (path !== null) {
      step.done();
      return path;
    }
    step.failed();
    say(
      stop.signal.aborted
        ? 'the host of Electron does not answer'
        : `Electron could not be fetched: ${result.tail.split('\n')[0] ?? ''}`,
    );
    return null;
  } finally {
    watch.end();
    await rm(temporary, { recursive: true, force: true });
  }
}

/** Watches folders grow; `standstill` resolves when they have not for too long. */
export function watchGrowth(
  folders: readonly string[],
  onGrowth: (bytes: number) => void,
  patience: { firstByteMs: number; standstillMs: number; lookEveryMs: number } = PATIENCE,
): { standstill: Promise<void>; end: () => void } {
  const { promise, resolve } = Promise.withResolvers<undefined>();
  let bytes = 0;
  let grewMs = Date.now();
  const limitMs = (): number => (bytes === 0 ? patience.firstByteMs : patience.standstillMs);
  const timer = setInterval(() => {
    void Promise.all(folders.map(folderBytes)).then((sizes) => {
      const now = sizes.reduce((sum, size) => sum + size, 0);
      if (now !== bytes) {
        bytes = now;
        grewMs = Date.now();
        onGrowth(bytes);
      } else if (Date.now() - grewMs > limitMs()) {
        resolve(undefined);
      }
    });
  }, patience.lookEveryMs);
  return {
    standstill: promise,
    end: () => {
      clearInterval(timer);
    },
  };
}

/** Bytes of all files below a folder; files that vanish meanwhile do not count. */
async function folderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    entries.map((entry) =>
      stat(join(folder, entry)).then(
        (info) => (info.isFile() ? info.size : 0),
        () => 0,
      ),
    ),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}

async function failedLately(memory: string): Promise<boolean> {
  const info = await stat(memory).catch(() => null);
  return info !== null && Date.now() - info.mtimeMs < REMEMBER_MS;
}

function packageFolder(): string {
  return dirname(createRequire(import.meta.url).resolve('electron/package.json'));
}

async function packageVersion(folder: string): Promise<string> {
  const { version } = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as {
    version: string;
  };
  return version;
}
