/**
 * better-sqlite3 for a runtime that offers Node-API 9, while the package's own binaries ask for
 * 10. Called by electron-runtime.ts for the stand-in Electron.
 *
 * The package is compiled once from its own source with one define changed: Node-API 10 differs
 * for it only in what 9 offers under its "experimental" names. The result stays in the cache
 * folder under the package's version and a checksum of its source; nothing in node_modules
 * changes.
 */
import { createHash } from 'node:crypto';
import { cp, copyFile, mkdir, readFile, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { cacheFolder, cachedFolder } from './cache-folder.ts';
import { nodePackage } from './node-package.mjs';
import { runTool, runToolOrThrow } from './run-tool.ts';
import { beginStep } from './say.ts';

/** Node-API version that the package's own binaries need. */
export const SQLITE_NAPI_VERSION = 10;

const DEFINE = `'NAPI_VERSION=10'`;
const DEFINES_NAPI_9 =
  `'NAPI_VERSION=2147483647', 'NAPI_EXPERIMENTAL', ` + `'NODE_API_EXPERIMENTAL_NOGC_ENV_OPT_OUT'`;
const FILE = 'better_sqlite3.node';
const SOURCES = ['binding.gyp', 'package.json', 'src', 'deps', 'lib'];

const require = createRequire(import.meta.url);

/** Path of a better-sqlite3 binding for Node-API 9, compiled at the first call (about a minute). */
export async function sqliteBindingNapi9(cache: string = cacheFolder()): Promise<string> {
  const source = dirname(require.resolve('better-sqlite3/package.json'));
  const { version } = JSON.parse(await readFile(join(source, 'package.json'), 'utf8')) as {
    version: string;
  };
  const checksum = (await checksumOf(source)).slice(0, 12);
  const name = `better-sqlite3-${version}-napi9-${process.platform}-${process.arch}-${checksum}`;
  return join(await cachedFolder(name, (folder) => compile(source, folder), cache), FILE);
}

async function compile(source: string, folder: string): Promise<void> {
  await requireTools();
  const work = join(folder, 'source');
  for (const part of SOURCES) await cp(join(source, part), join(work, part), { recursive: true });
  const addonApi = dirname(require.resolve('node-addon-api/package.json', { paths: [source] }));
  await mkdir(join(work, 'node_modules'));
  await cp(addonApi, join(work, 'node_modules', 'node-addon-api'), { recursive: true });
  const gyp = await readFile(join(work, 'binding.gyp'), 'utf8');
  if (gyp.split(DEFINE).length !== 2) throw new Error('better-sqlite3 has an unknown binding.gyp');
  await writeFile(join(work, 'binding.gyp'), gyp.replace(DEFINE, DEFINES_NAPI_9));
  const step = beginStep('compiling SQLite for Electron 33, about a minute, once');
  try {
    const args = ['rebuild', '--release', '--force_build=1', `--nodedir=${await headersFolder()}`];
    const nodeGyp = require.resolve('node-gyp/bin/node-gyp.js');
    await runToolOrThrow('node-gyp', process.execPath, [nodeGyp, ...args], { cwd: work });
  } catch (error) {
    step.failed();
    throw error;
  }
  await copyFile(join(work, 'build', 'Release', FILE), join(folder, FILE));
  await rm(work, { recursive: true });
  step.done();
}

/** Throws an error that names the package to install when a tool of the compilation is missing. */
async function requireTools(): Promise<void> {
  const tools = [
    { command: process.env['CXX'] ?? 'g++', debian: 'g++' },
    { command: 'make', debian: 'make' },
    { command: process.env['PYTHON'] ?? 'python3', debian: 'python3' },
  ];
  const missing: string[] = [];
  for (const { command, debian } of tools) {
    const found = await runTool(command, ['--version']).catch(() => null);
    if (found?.code !== 0) missing.push(debian);
  }
  if (missing.length === 0) return;
  throw new Error(
    `SQLite must be compiled and ${missing.join(' and ')} cannot be found; ` +
      `install with: apt-get install ${missing.join(' ')}`,
  );
}

/** The folder above include/node: it comes with the pinned Node. */
async function headersFolder(): Promise<string> {
  const places = [nodePackage(), dirname(dirname(process.execPath))];
  for (const place of places) {
    const header = await stat(join(place, 'include', 'node', 'node_api.h')).catch(() => null);
    if (header !== null) return place;
  }
  throw new Error('the headers of Node cannot be found; run npm ci again');
}

async function checksumOf(source: string): Promise<string> {
  const hash = createHash('sha256');
  for (const part of SOURCES) {
    const path = join(source, part);
    const files = (await stat(path)).isDirectory()
      ? (await readdir(path, { recursive: true })).sort().map((file) => join(path, file))
      : [path];
    for (const file of files) {
      if ((await stat(file)).isFile()) hash.update(await readFile(file));
    }
  }
  return hash.digest('hex');
}
