/**
 * `npm run pack`: builds the unpacked desktop app for this machine into release/, without any
 * network beyond what finding a runtime takes. electron-builder.yml says what goes in.
 *
 * The runtime is the one that `npm start` uses. Where that is the stand-in, its better-sqlite3
 * binding takes the place of the package's own, and the result is for tests, not for shipping.
 */
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AfterPackContext } from 'electron-builder';
import { build, isBuilt } from './build.ts';
import { findElectron, type ElectronRuntime } from './electron-runtime.ts';
import { beginStep, say } from './say.ts';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const BINDING = `app.asar.unpacked/node_modules/better-sqlite3/prebuilds/${process.platform}-${process.arch}.node`;

/** Builds and packs. @returns the app's folder; throws when no runtime is to be had */
async function pack(): Promise<string> {
  if (!(await isBuilt())) await build(say);
  const runtime = await findElectron();
  if ('reason' in runtime) throw new Error(`packing needs Electron: ${runtime.reason}`);
  const distribution = await mkdtemp(join(tmpdir(), 'sluice-electron-'));
  const step = beginStep(`packing with Electron ${runtime.electronVersion}`);
  try {
    await copyRuntime(dirname(runtime.executable), distribution);
    const folder = await runBuilder(runtime, distribution);
    step.done();
    return folder;
  } catch (error) {
    step.failed();
    throw error;
  } finally {
    await rm(distribution, { recursive: true, force: true });
  }
}

/** A runtime folder as electron-builder wants it: without an app of its own. */
async function copyRuntime(from: string, to: string): Promise<void> {
  for (const name of await readdir(from)) {
    await cp(join(from, name), join(to, name), {
      recursive: true,
      filter: (source) => dirname(source) !== join(from, 'resources') || basename(source) !== 'app',
    });
  }
}

async function runBuilder(runtime: ElectronRuntime, distribution: string): Promise<string> {
  const { build: buildPackages, Platform } = await import('electron-builder');
  let folder = '';
  const afterPack = async ({ appOutDir }: AfterPackContext): Promise<void> => {
    folder = appOutDir;
    if (runtime.sqliteBinding === null) return;
    await cp(runtime.sqliteBinding, join(appOutDir, 'resources', BINDING));
  };
  await buildPackages({
    projectDir: ROOT,
    targets: Platform.current().createTarget('dir'),
    publish: 'never',
    config: {
      extends: join(ROOT, 'electron-builder.yml'),
      electronDist: distribution,
      electronVersion: runtime.electronVersion,
      afterPack,
    },
  });
  return folder;
}

say(`the app is in ${await pack()}`);
