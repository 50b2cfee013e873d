/**
 * The user's cache folder, where runtimes and builds live that must survive `npm ci`.
 *
 * Every entry is made in a temporary folder beside its final place and renamed into it when it is
 * complete, so what is found under its final name is always whole. A lock file keeps two starts
 * from doing the same long work; should a lock ever be broken wrongly, the loser of the rename
 * throws its copy away and nothing else happens.
 */
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { say } from './say.ts';

const LOCK_POLL_MS = 500;

/** Absolute path; not created here. SLUICE_CACHE_DIR wins over XDG_CACHE_HOME over ~/.cache. */
export function cacheFolder(env: NodeJS.ProcessEnv = process.env): string {
  if (env['SLUICE_CACHE_DIR']) return env['SLUICE_CACHE_DIR'];
  return join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'sluice');
}

/**
 * Returns the cache entry of that name, making it first when it is missing.
 *
 * @param name  a file name that carries version and checksum of the content
 * @param make  fills the empty folder it is given; what it throws is passed on and leaves nothing
 * @returns     the folder's absolute path
 */
export async function cachedFolder(
  name: string,
  make: (folder: string) => Promise<void>,
  cache: string = cacheFolder(),
): Promise<string> {
  const path = join(cache, name);
  if (existsSync(path)) return path;
  await mkdir(cache, { recursive: true });
  const unlock = await lock(`${path}.lock`, () => existsSync(path));
  try {
    if (existsSync(path)) return path;
    await removeUnfinished(cache, name);
    const unfinished = await mkdtemp(`${path}.unfinished-`);
    try {
      await make(unfinished);
      await renameUnlessThere(unfinished, path);
    } finally {
      await rm(unfinished, { recursive: true, force: true });
    }
    return path;
  } finally {
    await unlock();
  }
}

/** Removes what a killed preparation left. Under the lock, so nobody works in it. */
async function removeUnfinished(cache: string, name: string): Promise<void> {
  for (const entry of await readdir(cache)) {
    if (entry.startsWith(`${name}.unfinished-`)) {
      await rm(join(cache, entry), { recursive: true, force: true });
    }
  }
}

async function renameUnlessThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!existsSync(to)) throw error;
  }
}

/**
 * Waits for a lock file, or until its holder has done the work. A lock whose process has ended is
 * taken over.
 *
 * @param isDone  asked before each try
 * @returns       lets go of the lock; does nothing when the work was found done
 */
export async function lock(path: string, isDone: () => boolean): Promise<() => Promise<void>> {
  let told = false;
  while (!isDone()) {
    try {
      await writeFile(path, String(process.pid), { flag: 'wx' });
      return () => rm(path, { force: true });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = Number(await readFile(path, 'utf8').catch(() => ''));
    // An empty file is a holder between creating and writing; the next look will tell.
    if (holder > 0 && !isAlive(holder)) await rm(path, { force: true });
    else if (!told) {
      told = true;
      say(`waiting for process ${String(holder)}, which prepares the same`);
    }
    await delay(LOCK_POLL_MS);
  }
  return () => Promise.resolve();
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
