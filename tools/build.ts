/**
 * Builds what runs: the program for Node and Electron, and the window. Used by `npm run build` and,
 * when the build is missing or older than the sources, by tools/start.ts.
 *
 * Entries keep their place below dist/main/, so that contract/thread-entry.ts finds a thread's
 * file by the same path in sources and in a build. Everything that two entries share goes into
 * dist/main/chunks/. Only native and Electron modules stay outside the bundle.
 */
import { createHash } from 'node:crypto';
import { rm, readdir, stat, writeFile, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { InputOptions } from 'rolldown';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const STAMP = join(ROOT, 'dist', 'built');

const ENTRIES = [
  'headless',
  'dataplane/dataplane-thread',
  'log/writer-thread',
  'log/reader-thread',
  'lists/compile/compile-thread',
  'control/import/import-process',
  'electron/main',
];

/** Builds everything. @param say  gets one line per step; @throws when a step fails */
export async function build(say: (line: string) => void): Promise<void> {
  const startedAt = performance.now();
  await rm(join(ROOT, 'dist', 'main'), { recursive: true, force: true });
  say('building the program ...');
  await buildMain();
  say('building the window ...');
  const { build: viteBuild } = await import('vite');
  await viteBuild({ configFile: join(ROOT, 'vite.config.ts'), logLevel: 'warn' });
  const { buildNative } = await import('./build-native.ts');
  await buildNative(say);
  const { buildWatcher } = await import('./build-watcher.ts');
  await buildWatcher(say);
  await mkdir(join(ROOT, 'dist'), { recursive: true });
  await writeFile(STAMP, new Date().toISOString());
  say(`built in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
}

/** True when dist/ holds a build that is newer than every source file. */
export async function isBuilt(): Promise<boolean> {
  const built = await stat(STAMP).catch(() => null);
  if (built === null) return false;
  for (const place of ['main', 'renderer', 'package.json', 'vite.config.ts']) {
    if ((await newestMs(join(ROOT, place))) > built.mtimeMs) return false;
  }
  return true;
}

async function buildMain(): Promise<void> {
  const { rolldown } = await import('rolldown');
  const shared = {
    external: [/^node:/, 'electron', 'better-sqlite3'],
    platform: 'node',
    cwd: ROOT,
  } satisfies Partial<InputOptions>;
  const program = await rolldown({
    ...shared,
    input: Object.fromEntries(ENTRIES.map((entry) => [entry, join(ROOT, 'main', `${entry}.ts`)])),
  });
  const { output } = await program.write({
    dir: join(ROOT, 'dist', 'main'),
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    // Node keeps the text of what it runs in memory. Names stay, for the stacks of errors.
    minify: { compress: false, mangle: false, codegen: { removeWhitespace: true } },
    sourcemap: true,
  });
  await program.close();
  // By this the program knows whether what it saved for its next start was saved by itself.
  const id = createHash('sha256');
  for (const file of output) if (file.type === 'chunk') id.update(file.code);
  await writeFile(join(ROOT, 'dist', 'main', 'build-id'), `${id.digest('hex')}\n`);
  const preload = await rolldown({
    ...shared,
    input: join(ROOT, 'main', 'electron', 'preload.cts'),
  });
  await preload.write({
    file: join(ROOT, 'dist', 'main', 'electron', 'preload.cjs'),
    format: 'cjs',
    sourcemap: false,
  });
  await preload.close();
  await buildGuardian(shared);
}

/** One CommonJS file without chunks or source map: the guardian must weigh and need little. */
async function buildGuardian(shared: InputOptions): Promise<void> {
  const { rolldown } = await import('rolldown');
  const guardian = await rolldown({
    ...shared,
    input: join(ROOT, 'main', 'system-dns', 'guardian', 'guardian-process.ts'),
    treeshake: { moduleSideEffects: false },
  });
  await guardian.write({
    file: join(ROOT, 'dist', 'main', 'system-dns', 'guardian', 'guardian-process.cjs'),
    format: 'cjs',
    codeSplitting: false,
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
    sourcemap: false,
  });
  await guardian.close();
}

async function newestMs(path: string): Promise<number> {
  const info = await stat(path);
  if (!info.isDirectory()) return info.mtimeMs;
  let newest = 0;
  for (const name of await readdir(path)) {
    newest = Math.max(newest, await newestMs(join(path, name)));
  }
  return newest;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const onlyIfStale = process.argv.includes('--if-stale');
  if (!onlyIfStale || !(await isBuilt())) {
    await build((line) => process.stderr.write(`${line}\n`));
  }
}
