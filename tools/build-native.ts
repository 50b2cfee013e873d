/**
 * Compiles the UDP add-on (main/native) into dist/native/<platform>-<arch>/udp.node. Called by
 * build.ts, and at install; also a script of its own. Plain C against Node-API: one call of the
 * C compiler, a few seconds, one file for every version of Node and Electron.
 *
 * The add-on is a faster way, not a needed one: without a compiler, without headers or off Linux
 * the program uses node:dgram.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { nodePackage } from './node-package.mjs';
import { runTool } from './run-tool.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const SOURCES = join(ROOT, 'main', 'native');

const FLAGS = [
  ...['-std=c11', '-D_GNU_SOURCE', '-DNAPI_VERSION=8', '-fPIC', '-shared', '-fvisibility=hidden'],
  ...['-O2', '-Wall', '-Wextra', '-fstack-protector-strong', '-Wl,-z,relro,-z,now'],
];

/** Where and how to compile; everything has a default. */
export interface CompileOptions {
  /** The file to write. Replaced in one step, since a running program may have it loaded. */
  readonly output: string;
  /** Compiler command; CC of the environment, else cc. */
  readonly compiler?: string;
  /** Appended to the flags, e.g. -Werror or -fsanitize=address. */
  readonly flags?: readonly string[];
}

/** Path of the add-on for a platform, e.g. 'linux', 'arm64'. */
export function nativeOutput(platform = process.platform, arch: string = process.arch): string {
  return join(ROOT, 'dist', 'native', `${platform}-${arch}`, 'udp.node');
}

/**
 * Builds the add-on for this machine unless it is newer than its sources.
 *
 * @param say  gets one line when something was built or cannot be
 * @returns    whether an up-to-date add-on exists now; never throws for want of a tool
 */
export async function buildNative(say: (line: string) => void): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const output = nativeOutput();
  if (await isUpToDate(output)) return true;
  const startedAt = performance.now();
  const failure = await compileNative({ output });
  if (failure !== '') {
    say(`fast UDP is not built, node:dgram will do: ${failure}`);
    return false;
  }
  say(`built fast UDP in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  return true;
}

/** Compiles. Returns '' or, in one line or the compiler's last ones, why it could not. */
export async function compileNative(options: CompileOptions): Promise<string> {
  const headers = headersFolder();
  if (headers === null) return 'no Node-API headers found (npm install brings them)';
  const compiler = options.compiler ?? process.env['CC'] ?? 'cc';
  const names = await readdir(SOURCES);
  const sources = names.filter((name) => name.endsWith('.c')).map((name) => join(SOURCES, name));
  await mkdir(dirname(options.output), { recursive: true });
  const partial = `${options.output}.${String(process.pid)}`;
  const flags = [...FLAGS, ...(options.flags ?? []), '-isystem', headers];
  const result = await runTool(compiler, [...flags, '-o', partial, ...sources]).catch(() => null);
  if (result === null) return `no C compiler (${compiler} cannot be started)`;
  if (result.code !== 0) {
    await rm(partial, { force: true });
    return `${compiler} failed\n${result.tail}`;
  }
  await rename(partial, options.output);
  return '';
}

/**
 * The folder with node_api.h: of the npm package with Node, else beside the running Node, else of the
 * system's. Any will do: Node-API and the few calls of libuv in use are the same in all of them.
 */
function headersFolder(): string | null {
  const places = [
    join(nodePackage(), 'include', 'node'),
    resolve(dirname(process.execPath), '..', 'include', 'node'),
    '/usr/include/node',
    '/usr/local/include/node',
  ];
  const found = places.find((place) => existsSync(join(place, 'node_api.h')));
  return found ?? null;
}

async function isUpToDate(output: string): Promise<boolean> {
  const built = await stat(output).catch(() => null);
  if (built === null) return false;
  const inputs = (await readdir(SOURCES)).map((name) => join(SOURCES, name));
  inputs.push(fileURLToPath(import.meta.url));
  for (const input of inputs) {
    if ((await stat(input)).mtimeMs > built.mtimeMs) return false;
  }
  return true;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildNative((line) => process.stderr.write(`${line}\n`));
}
