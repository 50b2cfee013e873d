/** The parts that only decide: guardian watch, network watch, portal mode, ladder, bypasses. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, join } from 'node:path';
import { test } from 'node:test';
import { runInNewContext } from 'node:vm';
import { findBypasses } from '../../main/system-dns/takeover/bypasses.ts';
import {
  GuardianWatch,
  PROBE_EVERY_MS,
  SILENCE_MS,
} from '../../main/system-dns/guardian/guardian-watch.ts';
import { NetworkWatch, type NetworkEvent } from '../../main/system-dns/takeover/network-watch.ts';
import { portLadder } from '../../main/system-dns/rights/port-ladder.ts';
import { PROBE_PAGES, probePortal } from '../../main/system-dns/portal/portal-probe.ts';
import { OPEN_MS, PortalMode } from '../../main/system-dns/portal/portal.ts';
import { isAlive, markOf } from '../../main/system/process-mark.ts';
import { isProbeAnswer, probeName, probeQuery } from '../../main/system-dns/takeover/probe.ts';
import { loopbackServers } from '../../main/system-dns/system-dns.ts';
import { answerAddress, FakeUpstream } from '../support/fake-upstream.ts';
import { tempDir } from '../support/temp-dir.ts';

test('a silent engine is noticed soon enough to be back within two seconds', () => {
  const watch = new GuardianWatch(0);
  let now = 0;
  for (; now < 10_000; now += PROBE_EVERY_MS) {
    assert.equal(watch.tick(now), 'fine');
    watch.heard(now + 1);
  }
  const diedAt = now;
  while (watch.tick(now) === 'fine') now += PROBE_EVERY_MS;
  assert.ok(now - diedAt <= SILENCE_MS + PROBE_EVERY_MS, `${String(now - diedAt)} ms`);
});

test('time in which the guardian itself stood still is not held against the engine', () => {
  const watch = new GuardianWatch(0);
  assert.equal(watch.tick(200), 'fine');
  assert.equal(watch.tick(60_000), 'fine');
  assert.equal(watch.tick(60_200), 'fine');
  for (let now = 60_400; now < 61_000; now += PROBE_EVERY_MS) watch.tick(now);
  assert.equal(watch.tick(61_200), 'engine-silent');
});

test('the end of the app counts at once', () => {
  const watch = new GuardianWatch(0);
  watch.heard(100);
  watch.appEnded();
  assert.equal(watch.tick(110), 'app-ended');
});

test('the network watch tells changes of addresses and a sleep', async () => {
  const told: NetworkEvent[] = [];
  const machine = { addresses: 'a', wallMs: 1_000_000, monotonicMs: 0 };
  const watch = new NetworkWatch({
    onEvent: (event) => told.push(event),
    platform: 'darwin',
    addresses: () => machine.addresses,
    wallMs: () => machine.wallMs,
    monotonicMs: () => machine.monotonicMs,
  });
  watch.look();
  machine.addresses = 'b';
  watch.look();
  machine.wallMs += 3_600_000;
  watch.look();
  watch.look();
  assert.deepEqual(told, ['tick', 'changed', 'resumed', 'tick']);
  await watch.close();
  await watch.close();
});

test('a portal opens by itself on a new network, for five minutes at most', () => {
  const portal = new PortalMode();
  portal.joined('cafe', ['10.0.0.1']);
  portal.found('portal', 1_000);
  assert.deepEqual(portal.state, {
    phase: 'open',
    endsAtMs: 1_000 + OPEN_MS,
    servers: ['10.0.0.1'],
  });
  portal.found('portal', 2_000);
  assert.equal(portal.state.endsAtMs, 1_000 + OPEN_MS, 'another finding does not make it longer');
  portal.tick(1_000 + OPEN_MS);
  assert.equal(portal.state.phase, 'over');
  portal.found('portal', 400_000);
  assert.equal(portal.state.phase, 'over', 'it does not open again by itself');
  portal.ask(400_000);
  assert.equal(portal.state.phase, 'open');
});

test('a portal ends by itself when the way is free', () => {
  const portal = new PortalMode();
  portal.joined('cafe', ['10.0.0.1']);
  portal.found('portal', 0);
  portal.found('offline', 1_000);
  assert.equal(portal.state.phase, 'open');
  portal.found('free', 2_000);
  assert.equal(portal.state.phase, 'clear');
});

test('on a network that was free before, a person is asked first', () => {
  const portal = new PortalMode();
  portal.joined('home', ['10.0.0.1']);
  portal.found('free', 0);
  portal.found('portal', 1_000);
  assert.equal(portal.state.phase, 'asking');
  portal.ask(2_000);
  assert.equal(portal.state.phase, 'open');
  portal.end();
  assert.equal(portal.state.phase, 'over');
  portal.joined('cafe', ['10.9.0.1']);
  assert.equal(portal.state.phase, 'clear');
});

test('without servers of the network nothing is opened', () => {
  const portal = new PortalMode();
  portal.joined('odd', []);
  portal.found('portal', 0);
  assert.equal(portal.state.phase, 'clear');
});

test('the ladder names what works, and the commands that install and remove the rest', async (t) => {
  const facts = {
    ...{ lowestFreePort: 1024, isRoot: false, mayBind: false, ownerTakesPort: true },
    ...{ hasSystemd: true, isService: false, hasRule: false, hasLowPorts: false, userName: 'ann' },
    ...{ command: '/usr/bin/sluice', changeable: '', installer: '' },
  };
  const states = (of: Partial<typeof facts>): string[] =>
    portLadder({ ...facts, ...of }).map(({ id, state }) => `${id}: ${state}`);
  assert.deepEqual(states({}), [
    ...['allowed: not here', 'owner-port: works', 'no-password: possible'],
    ...['low-ports: possible', 'service: possible'],
  ]);
  assert.deepEqual(states({ isRoot: true, isService: true, ownerTakesPort: false }), [
    ...['allowed: works', 'owner-port: not here', 'no-password: not here'],
    ...['low-ports: not here', 'service: not here'],
  ]);
  assert.equal(states({ hasRule: true })[2], 'no-password: works');
  const folder = await tempDir(t);
  for (const rung of portLadder(facts).filter(({ state }) => state === 'possible')) {
    // The first command is run with a harmless `sudo`; the file must be what the text shows.
    const [write = '', ...others] = rung.installs.split('\n');
    const file = /sudo tee (\S+)$/.exec(write)?.[1] ?? '';
    const copy = join(folder, basename(file));
    execFileSync('sh', ['-c', write.replace(`sudo tee ${file}`, `tee ${copy}`)]);
    const text = readFileSync(copy, 'utf8');
    assert.ok(text.split('\n').length > 1, text);
    if (rung.id === 'no-password') assertPolkitRule(text);
    if (rung.id === 'service') assert.match(text, /^ExecStopPost=\/usr\/bin\/sluice restore$/m);
    for (const line of others) assert.match(line, /^sudo (sysctl|systemctl) /);
    assert.ok(rung.undo.includes(`sudo rm ${file}`), rung.undo);
  }
});

/** Runs the rule as polkit would. */
function assertPolkitRule(text: string): void {
  const made: { rule?: (action: { id: string }, subject: { user: string }) => unknown } = {};
  const polkit = {
    addRule: (rule: NonNullable<typeof made.rule>) => (made.rule = rule),
    Result: { YES: 'yes' },
  };
  runInNewContext(text, { polkit });
  const dns = { id: 'org.freedesktop.resolve1.set-dns-servers' };
  assert.equal(made.rule?.(dns, { user: 'ann' }), 'yes');
  assert.equal(made.rule(dns, { user: 'bob' }), undefined);
  assert.equal(made.rule({ id: 'org.freedesktop.login1.reboot' }, { user: 'ann' }), undefined);
}

test('browser policies and Docker are found where they can be read', async (t) => {
  const root = `${await tempDir(t)}/`;
  assert.deepEqual(findBypasses(root), []);
  mkdirSync(join(root, 'etc/chromium/policies/managed'), { recursive: true });
  mkdirSync(join(root, 'etc/firefox/policies'), { recursive: true });
  mkdirSync(join(root, 'sys/class/net/docker0'), { recursive: true });
  writeFileSync(join(root, 'etc/chromium/policies/managed/a.json'), '{"DnsOverHttpsMode":"off"}');
  const firefox = { policies: { DNSOverHTTPS: { Enabled: true } } };
  writeFileSync(join(root, 'etc/firefox/policies/policies.json'), JSON.stringify(firefox));
  assert.deepEqual(
    findBypasses(root).map(({ what, state }) => [what, state]),
    [
      ['Chromium', 'prevented'],
      ['Firefox', 'bypasses'],
      ['Docker', 'bypasses'],
    ],
  );
});

test('a process is told from another one with its number', () => {
  const mark = markOf(process.pid);
  assert.equal(isAlive(mark), true);
  assert.equal(isAlive({ ...mark, start: `${mark.start}1` }), process.platform !== 'linux');
  assert.equal(isAlive({ ...mark, pid: 0x3fffff }), false);
});

test('probe names are fresh, well formed, and only an answer with a record counts', () => {
  const name = probeName('00ff');
  assert.match(name, /^[0-9a-f]{12}\.00ff\.probe\.sluice\.internal$/);
  assert.notEqual(name, probeName('00ff'));
  const query = probeQuery(0x1234, name);
  assert.equal(query.readUInt16BE(0), 0x1234);
  const reply = Buffer.from(query);
  reply.writeUInt16BE(0x8180, 2);
  assert.equal(isProbeAnswer(reply, 0x1234), false, 'no record');
  reply.writeUInt16BE(1, 6);
  assert.equal(isProbeAnswer(reply, 0x1234), true);
  assert.equal(isProbeAnswer(reply, 0x1235), false, 'another question');
  reply.writeUInt16BE(0x8183, 2);
  assert.equal(isProbeAnswer(reply, 0x1234), false, 'no such name');
});

test('of the listeners, those on loopback serve the machine itself, IPv4 first', () => {
  assert.deepEqual(loopbackServers(['[::]:53', '192.168.1.5:53', '0.0.0.0:53', '127.0.0.2:5353']), [
    { address: '127.0.0.1', port: 53 },
    { address: '127.0.0.2', port: 5353 },
    { address: '::1', port: 53 },
  ]);
});

test('a way is free, a portal, or offline, by what a probe page says', async (t) => {
  const upstream = await FakeUpstream.open(t, answerAddress('127.0.0.1'));
  let body = 'success\n';
  const server = createServer((_request, response) => response.end(body));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  const pages = PROBE_PAGES.filter(({ host }) => host === 'detectportal.firefox.com');
  const probe = () => probePortal([`127.0.0.1:${String(upstream.port)}`], pages, port);
  assert.equal(await probe(), 'free');
  assert.equal(upstream.queries[0]?.name, 'detectportal.firefox.com');
  body = 'log in here';
  assert.equal(await probe(), 'portal');
  server.close();
  server.closeAllConnections();
  assert.equal(await probe(), 'offline');
  assert.equal(await probePortal([]), 'offline');
});
