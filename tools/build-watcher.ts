/**
 * Compiles the guardian's watcher (main/native/guardian) into
 * dist/native/<platform>-<arch>/guardian-watcher. Called by build.ts; also a script of its own.
 * Without it the guardian is a Node process all the time, which needs more memory.
 */
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool } from './run-tool.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
export const WATCHER_SOURCE = join(ROOT, 'main', 'native', 'guardian', 'watcher.c');
export const WATCHER_FLAGS = [
  ...['-std=c11', '-D_GNU_SOURCE', '-O2', '-Wall', '-Wextra', '-fPIE', '-pie'],
  ...['-fstack-protector-strong', '-Wl,-z,relro,-z,now'],
];

/**
 * Builds it for this machine unless it is newer than its source.
 *
 * @param say  gets one line when it was built or cannot be
 * @returns    whether it exists now; never throws for want of a compiler
 */
export async function buildWatcher(
  say: (line: string) => void,
  output = join(ROOT, 'dist', 'native', `linux-${process.arch}`, 'guardian-watcher'),
  compiler = process.env['CC'] ?? 'cc',
): Promise<boolean> {
  if (process.platform !== 'linux') return false;
  const built = await stat(output).catch(() => null);
  if (built !== null && built.mtimeMs >= (await stat(WATCHER_SOURCE)).mtimeMs) return true;
  await mkdir(dirname(output), { recursive: true });
  const partial = `${output}.${String(process.pid)}`;
  const result = await runTool(compiler, [...WATCHER_FLAGS, '-o', partial, WATCHER_SOURCE]).catch(
    () => null,
  );
  if (result?.code === 0) {
    await rename(partial, output);
    return true;
  }
  await rm(partial, { force: true });
  const why = result === null ? `${compiler} cannot be started` : `failed\n${result.tail}`;
  say(`the guardian will be a Node process, its watcher is not built: ${why}`);
  return false;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await buildWatcher((line) => process.stderr.write(`${line}\n`));
}
