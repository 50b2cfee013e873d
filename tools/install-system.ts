/**
 * `sudo npm run install:system`: copies the built program, its Node and its units to where systemd
 * runs them, owned by root and changeable by nobody else. `--remove` takes it away again, but not
 * /var/lib/sluice; `--root DIR` puts a folder in front of every path, for packages and tests.
 *
 *     /usr/lib/sluice       node, dist, resources, the few modules that the bundle loads by name
 *     /usr/bin/sluice       the command
 *     /etc/systemd/system   sluice.service, sluice-restore.service
 */
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { isBuilt } from './build.ts';
import { say } from './say.ts';

const CHECKOUT = fileURLToPath(new URL('../', import.meta.url));
const PROGRAM = '/usr/lib/sluice';
const COMMAND = '/usr/bin/sluice';
const UNITS = '/etc/systemd/system';
const UNIT_NAMES = ['sluice.service', 'sluice-restore.service'];

/** As electron-builder.yml has them: everything else is inside the bundle. */
const PARTS = [
  ...['package.json', 'LICENSE', 'dist/main', 'dist/native', 'dist/renderer', 'resources'],
  ...['node_modules/better-sqlite3/package.json', 'node_modules/better-sqlite3/lib'],
  `node_modules/better-sqlite3/prebuilds/${process.platform}-${process.arch}.node`,
  ...['node_modules/re2js/package.json', 'node_modules/re2js/build/index.cjs'],
  ...['node_modules/tldts/package.json', 'node_modules/tldts/dist/cjs'],
  ...['node_modules/tldts-core/package.json', 'node_modules/tldts-core/dist/cjs'],
];

/** @throws Error that says what to do when the program is not built or the rights are missing */
export async function installSystem(root = '/'): Promise<void> {
  if (!(await isBuilt())) throw new Error('the build is missing or old; run: npm run build');
  if (root === '/' && process.getuid?.() !== 0) throw new Error('this needs root; use sudo');
  const program = join(root, PROGRAM);
  const fresh = `${program}-new`;
  await rm(fresh, { recursive: true, force: true });
  for (const part of PARTS) {
    await mkdir(dirname(join(fresh, part)), { recursive: true, mode: 0o755 });
    await cp(join(CHECKOUT, part), join(fresh, part), { recursive: true, dereference: true });
  }
  await cp(process.execPath, join(fresh, 'node'), { dereference: true });
  await closeToUsers(fresh);
  await replaceFolder(fresh, program);
  await mkdir(dirname(join(root, COMMAND)), { recursive: true });
  await writeRootFile(
    join(root, COMMAND),
    `#!/bin/sh\nexec ${PROGRAM}/node ${PROGRAM}/dist/main/headless.js "$@"\n`,
    0o755,
  );
  await mkdir(join(root, UNITS), { recursive: true });
  for (const name of UNIT_NAMES) {
    await rm(join(root, UNITS, name), { force: true });
    await cp(join(CHECKOUT, 'resources', 'systemd', name), join(root, UNITS, name));
    await closeToUsers(join(root, UNITS, name));
  }
}

export async function removeSystem(root = '/'): Promise<void> {
  for (const name of UNIT_NAMES) await rm(join(root, UNITS, name), { force: true });
  await rm(join(root, COMMAND), { force: true });
  await rm(join(root, PROGRAM), { recursive: true, force: true });
}

/** The old program goes only when the new one is whole. */
async function replaceFolder(fresh: string, place: string): Promise<void> {
  const old = `${place}-old`;
  await rm(old, { recursive: true, force: true });
  if ((await stat(place).catch(() => null)) !== null) await rename(place, old);
  await rename(fresh, place);
  await rm(old, { recursive: true, force: true });
}

async function writeRootFile(path: string, text: string, mode: number): Promise<void> {
  await writeFile(`${path}.new`, text, { mode });
  await closeToUsers(`${path}.new`);
  await rename(`${path}.new`, path);
}

/** Owner root where this is root; readable by all, writable by the owner only. */
async function closeToUsers(path: string): Promise<void> {
  const info = await lstat(path);
  if (process.getuid?.() === 0) await chown(path, 0, 0);
  const isRun = info.isDirectory() || (info.mode & 0o100) !== 0;
  await chmod(path, isRun ? 0o755 : 0o644);
  if (!info.isDirectory()) return;
  for (const name of await readdir(path)) await closeToUsers(join(path, name));
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      root: { type: 'string', default: '/' },
      remove: { type: 'boolean', default: false },
    },
  });
  if (values.remove) {
    await removeSystem(values.root);
    say(`removed; settings and log are still in /var/lib/sluice`);
    return;
  }
  await installSystem(values.root);
  say(`installed in ${join(values.root, PROGRAM)}`);
  say('start it: systemctl enable --now sluice.service sluice-restore.service');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    await main();
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }
}
