/** Files that root runs by itself: who else could change them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { portLadder, type LadderFacts } from '../../../main/system-dns/rights/port-ladder.ts';
import { changeableByUsers, type FileFacts } from '../../../main/system-dns/rights/root-files.ts';

/** A file system in which everything that is not named belongs to root, mode 755. */
const world =
  (others: Record<string, Partial<FileFacts>>) =>
  (path: string): FileFacts => ({ uid: 0, mode: 0o755, ...others[path] });
const same = (path: string): string => path;
const found = (path: string, others: Record<string, Partial<FileFacts>> = {}): string =>
  changeableByUsers([path], world(others), same);

test('a file counts as changeable when it or a folder above it is', () => {
  assert.equal(found('/usr/lib/sluice/node'), '');
  assert.equal(found('/home/ann/sluice/node', { '/home/ann': { uid: 1000 } }), '/home/ann');
  assert.equal(found('/opt/x/node', { '/opt/x/node': { mode: 0o775 } }), '/opt/x/node');
  assert.equal(found('/opt/x/node', { '/opt': { mode: 0o777 } }), '/opt');
  assert.equal(found('/tmp/x/node', { '/tmp': { mode: 0o1777 } }), '', 'a sticky folder');
  assert.equal(changeableByUsers(['/no/such/file/at/all']), '/no/such/file/at/all');
});

const FACTS: LadderFacts = {
  ...{ lowestFreePort: 1024, isRoot: false, mayBind: false, ownerTakesPort: true },
  ...{ hasSystemd: true, isService: false, hasRule: false, hasLowPorts: false, userName: 'ann' },
  ...{ command: '/usr/lib/sluice/node headless.js', changeable: '', installer: '' },
};

function service(facts: Partial<LadderFacts>) {
  return portLadder({ ...FACTS, ...facts }).find(({ id }) => id === 'service');
}

test('a service is never proposed that runs as root what a user can change', () => {
  const safe = service({});
  assert.equal(safe?.state, 'possible');
  assert.match(safe.installs, /ExecStart=\/usr\/lib\/sluice\/node headless\.js run/);
  assert.match(safe.installs, /NoNewPrivileges=yes/);
  const copied = service({ changeable: '/home/ann', installer: 'sudo npm run install:system' });
  assert.equal(copied?.state, 'possible');
  assert.match(copied.installs, /^sudo npm run install:system\n/);
  assert.doesNotMatch(copied.installs, /ExecStart/);
  assert.match(copied.explains, /\/home\/ann, which a user can change/);
  assert.equal(service({ changeable: '/home/ann' })?.state, 'not here');
});
