/** What `npm run install:system` puts where: it runs by itself, and only its owner can change it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { lstat, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { before, test } from 'node:test';
import { promisify } from 'node:util';
import { build, isBuilt } from '../../tools/build.ts';
import { installSystem, removeSystem } from '../../tools/install-system.ts';
import { HARDENING, serviceUnit } from '../../main/system-dns/rights/service-unit.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const skip = process.platform === 'linux' ? false : 'needs Linux: systemd runs it';

before(async () => {
  if (!(await isBuilt())) await build(() => undefined);
});

test(
  'installed, it runs without the checkout, and nobody else can change it',
  { skip },
  async (t) => {
    const root = await mkdtemp(join(tmpdir(), 'sluice-root-'));
    t.after(() => rm(root, { recursive: true, force: true }));
    await installSystem(root);
    await installSystem(root); // again, as an update
    const all = await readdir(root, { recursive: true });
    for (const path of all) {
      const { mode } = await lstat(join(root, path));
      assert.equal(mode & 0o022, 0, `${path} can be written by others`);
    }
    assert.deepEqual((await readdir(join(root, 'usr/lib'))).sort(), ['sluice']);
    const program = join(root, 'usr/lib/sluice');
    const { stdout } = await promisify(execFile)(
      join(program, 'node'),
      [join(program, 'dist/main/headless.js'), '--help'],
      { cwd: '/' },
    );
    assert.match(stdout, /sluice/);
    const command = await readFile(join(root, 'usr/bin/sluice'), 'utf8');
    assert.match(
      command,
      /^exec \/usr\/lib\/sluice\/node \/usr\/lib\/sluice\/dist\/main\/headless\.js/m,
    );
    await removeSystem(root);
    const left = await readdir(root, { recursive: true, withFileTypes: true });
    assert.deepEqual(
      left.filter((entry) => !entry.isDirectory()),
      [],
    );
  },
);

test('the units start a program that the installation puts there, and are hardened', async () => {
  const unit = await readFile(join(ROOT, 'resources/systemd/sluice.service'), 'utf8');
  const lines = unit.split('\n');
  for (const line of HARDENING) assert.ok(lines.includes(line), `sluice.service has ${line}`);
  for (const line of serviceUnit('/usr/bin/sluice', false).filter((one) =>
    one.startsWith('Exec'),
  )) {
    assert.ok(lines.includes(line), line);
  }
  const restore = await readFile(join(ROOT, 'resources/systemd/sluice-restore.service'), 'utf8');
  for (const line of ['NoNewPrivileges=yes', 'ProtectSystem=strict', 'ReadWritePaths=/etc /run']) {
    assert.ok(restore.split('\n').includes(line), `sluice-restore.service has ${line}`);
  }
  assert.match(restore, /^ExecStart=\/usr\/bin\/sluice restore --only-leftovers$/m);
});
