import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { runCommand } from '../../../main/system/command.ts';
import { JournalFile } from '../../../main/system-dns/takeover/journal.ts';
import { markOf } from '../../../main/system/process-mark.ts';
import { ourText, withServersBack } from '../../../main/system-dns/owners/resolv-conf.ts';
import { ResolvFileOwner } from '../../../main/system-dns/owners/resolv-file.ts';
import { restore } from '../../../main/system-dns/takeover/restore.ts';
import { tempDir } from '../../support/temp-dir.ts';

const OLD = '# mine\nnameserver 10.0.0.1\nnameserver fd00::1\nsearch lan example\noptions edns0\n';
const SERVERS = [
  { address: '127.0.0.1', port: 53 },
  { address: '::1', port: 53 },
];

async function place(t: TestContext) {
  const directory = await tempDir(t);
  const path = join(directory, 'resolv.conf');
  const owner = new ResolvFileOwner({ run: runCommand, path });
  const journal = new JournalFile(join(directory, 'state'));
  const take = async (): Promise<void> => {
    const items = await owner.capture();
    const holder = markOf(process.pid);
    assert.ok(journal.begin({ owner: 'resolv.conf', servers: SERVERS, items, holder }));
    for (const item of items) await owner.write(item, owner.target(item, SERVERS) ?? {});
  };
  return { directory, path, owner, take, giveBack: () => restore({ journal, owners: [owner] }) };
}

test('our file keeps search domains and options, and names only us', () => {
  const text = ourText(OLD, SERVERS) ?? '';
  assert.deepEqual(text.split('\n').slice(1), [
    ...['nameserver 127.0.0.1', 'nameserver ::1', 'search lan example', 'options edns0', ''],
  ]);
  assert.equal(ourText(OLD, [{ address: '127.0.0.1', port: 5399 }]), null);
});

test('an ordinary file comes back as the very same one', async (t) => {
  const { path, take, giveBack, directory } = await place(t);
  fs.writeFileSync(path, OLD, { mode: 0o640 });
  const before = fs.statSync(path);
  await take();
  assert.match(fs.readFileSync(path, 'utf8'), /^nameserver 127\.0\.0\.1$/m);
  const report = await giveBack();
  assert.equal(report.outcome, 'restored');
  const after = fs.statSync(path);
  assert.equal(fs.readFileSync(path, 'utf8'), OLD);
  assert.deepEqual(
    [after.ino, after.mode, after.mtimeMs],
    [before.ino, before.mode, before.mtimeMs],
  );
  assert.deepEqual(fs.readdirSync(directory).sort(), ['resolv.conf', 'state']);
});

test('two who give back at once leave the very same file', async (t) => {
  const { path, take, owner } = await place(t);
  fs.writeFileSync(path, OLD);
  const [before] = await owner.capture();
  const { ino } = fs.statSync(path);
  await take();
  assert.ok(before);
  // Each had made its plan before the other one wrote.
  await owner.write(before, before.properties);
  await owner.write(before, before.properties);
  assert.equal(fs.statSync(path).ino, ino);
  assert.equal(fs.readFileSync(path, 'utf8'), OLD);
});

test('a symbolic link comes back, and what it leads to is not touched', async (t) => {
  const { path, take, giveBack, directory } = await place(t);
  fs.writeFileSync(join(directory, 'stub.conf'), OLD);
  fs.symlinkSync('stub.conf', path);
  await take();
  assert.equal(fs.lstatSync(path).isSymbolicLink(), false);
  assert.equal(fs.readFileSync(join(directory, 'stub.conf'), 'utf8'), OLD);
  assert.equal((await giveBack()).outcome, 'restored');
  assert.equal(fs.readlinkSync(path), 'stub.conf');
});

test('a missing file is missing again', async (t) => {
  const { path, take, giveBack } = await place(t);
  await take();
  assert.equal(fs.existsSync(path), true);
  assert.equal((await giveBack()).outcome, 'restored');
  assert.equal(fs.existsSync(path), false);
});

test('a file that somebody wrote anew since is left alone', async (t) => {
  const { path, take, giveBack } = await place(t);
  fs.writeFileSync(path, OLD);
  await take();
  fs.writeFileSync(path, 'nameserver 192.0.2.1\n');
  const report = await giveBack();
  assert.deepEqual(
    report.items.map(({ outcome }) => outcome),
    ['yours'],
  );
  assert.equal(fs.readFileSync(path, 'utf8'), 'nameserver 192.0.2.1\n');
});

test('a file that somebody edited but that asks only us gets its servers back, edits kept', async (t) => {
  const { path, take, giveBack } = await place(t);
  fs.writeFileSync(path, OLD);
  await take();
  fs.appendFileSync(path, 'options timeout:1\n');
  const report = await giveBack();
  assert.deepEqual(
    report.items.map(({ outcome }) => outcome),
    ['mended'],
  );
  const text = fs.readFileSync(path, 'utf8');
  assert.match(text, /^nameserver 10\.0\.0\.1\nnameserver fd00::1\n/);
  assert.match(text, /options timeout:1/);
  assert.doesNotMatch(text, /127\.0\.0\.1|Sluice/);
});

test('the edited text takes the old servers in the place of ours', () => {
  const edited = '# note\nnameserver 127.0.0.1\nsearch x\nnameserver ::1\n';
  assert.equal(
    withServersBack(edited, OLD, ['127.0.0.1', '::1']),
    '# note\nnameserver 10.0.0.1\nnameserver fd00::1\nsearch x\n',
  );
});

test('without a journal to trust, the file that was kept comes back', async (t) => {
  const { path, take, giveBack, directory } = await place(t);
  fs.writeFileSync(path, OLD);
  await take();
  for (const name of fs.readdirSync(join(directory, 'state'))) {
    fs.writeFileSync(join(directory, 'state', name), 'rubbish');
  }
  const report = await giveBack();
  assert.equal(report.outcome, 'restored');
  assert.match(report.detail, /damaged/);
  assert.equal(fs.readFileSync(path, 'utf8'), OLD);
});
