/**
 * Scenarios on a whole machine, run inside a sandbox by sandbox.test.ts. Argument: the scenario's
 * name, the folder of the journal. Ends with a failed assertion, or prints its figures as JSON.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import * as fs from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { App } from './subject-app.ts';
import {
  ENGINE_ADDRESS,
  Machine,
  OUTSIDE_ADDRESS,
  enginePort,
  sh,
  timeToResolve,
  until,
  type Flavour,
} from './machine.ts';

const [scenario, directory, flavour] = process.argv.slice(2) as [string, string, Flavour];
const machine = new Machine(flavour);
machine.install();
await machine.boot();

/** A failed assertion ends this process, and with it whatever it started. */
const apps: App[] = [];
process.on('exit', () => {
  for (const app of apps) app.kill();
});

async function start(): Promise<App> {
  const app = new App(directory, enginePort(flavour));
  apps.push(app);
  await app.saw('ready', ({ event }) => event === 'ready');
  return app;
}

/** @returns how long it took, milliseconds */
async function order(app: App, command: string): Promise<number> {
  const seen = app.log.length;
  app.say(command);
  const { event, data } = await app.saw(`the end of ${command}`, (one) => {
    const isEnd = one.event === 'done' || one.event === 'failed';
    return isEnd && (one.data as { line: string }).line === command && app.log.indexOf(one) >= seen;
  });
  assert.equal(event, 'done', JSON.stringify(data));
  return (data as { tookMs: number }).tookMs;
}

const found = async (address: string): Promise<void> => {
  assert.notEqual(await timeToResolve(address, 3_000), Infinity, `no answer from ${address}`);
};

const scenarios: Record<string, () => Promise<unknown>> = {
  /** On, off, on, off; with how long each takes. */
  async switching() {
    const app = await start();
    const before = sh('cat /etc/resolv.conf; ls -ln /etc/resolv.conf');
    const onMs = [await order(app, 'on')];
    await found(ENGINE_ADDRESS);
    const offMs = [await order(app, 'off')];
    await found(OUTSIDE_ADDRESS);
    onMs.push(await order(app, 'on'));
    await found(ENGINE_ADDRESS);
    offMs.push(await order(app, 'off'));
    await found(OUTSIDE_ADDRESS);
    if (flavour !== 'systemd-resolved' && flavour !== 'networkmanager') {
      assert.equal(sh('cat /etc/resolv.conf; ls -ln /etc/resolv.conf'), before);
    }
    await app.end();
    return { onMs, offMs };
  },

  /** A dock is plugged in: the new link is covered, and comes back as it came. */
  async newLink() {
    const app = await start();
    await order(app, 'on');
    sh(`ip link add usb0 type veth peer name out2 netns out; ip addr add 10.3.0.2/24 dev usb0
      ip netns exec out ip link set out2 up; ip link set usb0 up`);
    await until('the link', () => sh('cat /sys/class/net/usb0/operstate').trim() === 'up', 5_000);
    sh('resolvectl dns usb0 10.3.0.1; resolvectl domain usb0 dock.example');
    await order(app, 'cover');
    assert.match(sh('resolvectl dns usb0'), /127\.0\.0\.1:5399/);
    await order(app, 'off');
    assert.match(sh('resolvectl dns usb0'), /: 10\.3\.0\.1\n/);
    assert.match(sh('resolvectl domain usb0'), /: dock\.example\n/);
    await app.end();
  },

  /** A VPN's own names stay with its own servers, everything else comes to us. */
  async tunnel() {
    const source = fileURLToPath(new URL('./hold-tun.c', import.meta.url));
    sh(`cc -o ${directory}/hold-tun ${source}`);
    const holder = spawn(`${directory}/hold-tun`, ['tun0'], { stdio: 'ignore' });
    process.on('exit', () => holder.kill());
    const exists = (): boolean => fs.existsSync('/sys/class/net/tun0');
    await until('the tunnel', exists, 5_000);
    sh('ip addr add 10.8.0.2/24 dev tun0; ip link set tun0 up');
    sh('resolvectl dns tun0 10.1.0.1; resolvectl domain tun0 "~corp.example"');
    const app = await start();
    await order(app, 'on');
    assert.match(sh('resolvectl dns tun0'), /: 10\.1\.0\.1\n/);
    const { data } = await app.saw('on', ({ event, data }) => {
      return event === 'done' && (data as { line: string }).line === 'on';
    });
    const { value } = data as { value: { phase: string; uncovered: { label: string }[] } };
    assert.equal(value.phase, 'on');
    assert.deepEqual(
      value.uncovered.map(({ label }) => label),
      ['tun0'],
    );
    await found(ENGINE_ADDRESS);
    await order(app, 'off');
    await app.end();
  },

  /** Somebody sets other servers while we are on: theirs come back, not the old ones. */
  async changedMeanwhile() {
    const app = await start();
    await order(app, 'on');
    sh('resolvectl dns wlan0 10.2.0.1');
    await order(app, 'off');
    assert.match(sh('resolvectl dns wlan0'), /: 10\.2\.0\.1\n/);
    assert.match(sh('resolvectl dns eth0'), /: 10\.1\.0\.1 10\.2\.0\.1\n/);
    await app.end();
  },

  /** Two instances: the second one is refused, the first one keeps the resolver. */
  async twoInstances() {
    const first = await start();
    await order(first, 'on');
    const second = new App(directory, 5400);
    await second.saw('ready', ({ event }) => event === 'ready');
    second.say('on');
    const refused = await second.done('on');
    assert.equal(refused.event, 'failed');
    assert.match((refused.data as { message: string }).message, /has taken the resolver over/);
    await second.end();
    await found(ENGINE_ADDRESS);
    await order(first, 'off');
    await found(OUTSIDE_ADDRESS);
    await first.end();
  },

  /** A disk without room: no takeover, nothing changed; and one that filled up later: given back. */
  async fullDisk() {
    fs.mkdirSync(`${directory}/small`);
    sh(`mount -t tmpfs -o size=64k tmpfs ${directory}/small`);
    const fill = () => {
      sh(`dd if=/dev/zero of=${directory}/small/fill bs=1k count=200 2>/dev/null || true`);
    };
    fill();
    const app = new App(`${directory}/small`, enginePort(flavour));
    await app.saw('ready', ({ event }) => event === 'ready');
    app.say('on');
    const refused = await app.done('on');
    assert.equal(refused.event, 'failed');
    assert.match((refused.data as { message: string }).message, /journal: .*ENOSPC/);
    await found(OUTSIDE_ADDRESS);
    fs.rmSync(`${directory}/small/fill`);
    app.say('cover'); // keeps the two orders of the same name apart
    await app.done('cover');
    await order(app, 'on');
    await found(ENGINE_ADDRESS);
    fill();
    process.kill(app.pid, 'SIGKILL');
    assert.ok((await timeToResolve(OUTSIDE_ADDRESS, 2_000)) <= 2_000);
    await app.end();
  },

  /** /etc becomes read-only while we are on: the old servers are put over ours all the same. */
  async readOnlyDisk() {
    const app = await start();
    await order(app, 'on');
    await found(ENGINE_ADDRESS);
    sh('mount -o remount,bind,ro /etc');
    process.kill(app.pid, 'SIGKILL');
    assert.ok((await timeToResolve(OUTSIDE_ADDRESS, 2_000)) <= 2_000);
    await app.end();
    const next = await start();
    next.say('on');
    const refused = await next.done('on');
    assert.equal(refused.event, 'failed', 'a read-only file cannot be taken over');
    await found(OUTSIDE_ADDRESS);
    await next.end();
  },

  /** Lookups at 200 a second over on, off, on: none is lost. */
  async noneLost() {
    const app = await start();
    let lost = 0;
    let asked = 0;
    const asking = new Set<Promise<void>>();
    const { lookup } = await import('node:dns/promises');
    const timer = setInterval(() => {
      const name = `q${String(asked++)}.example`;
      const one = lookup(name, { family: 4 })
        .then(() => undefined)
        .catch(() => {
          lost++;
        })
        .finally(() => asking.delete(one));
      asking.add(one);
    }, 5);
    await delay(500);
    for (const verb of ['on', 'off', 'on', 'off']) {
      await order(app, verb);
      await delay(300);
    }
    clearInterval(timer);
    await Promise.all(asking);
    await app.end();
    assert.equal(lost, 0, `${String(lost)} of ${String(asked)} lookups were lost`);
    return { asked, lost };
  },
};

const run = scenarios[scenario];
assert.ok(run, `no scenario ${scenario}`);
const figures = await run();
process.stdout.write(`${JSON.stringify(figures ?? {})}\n`);
execFileSync('sync');
process.exit(0);
