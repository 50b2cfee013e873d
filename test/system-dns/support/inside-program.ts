/**
 * The real program on a whole machine, run inside a sandbox by sandbox.test.ts. Arguments: the
 * scenario's name, a folder. Ends with a failed assertion, or prints its figures as JSON.
 */
import assert from 'node:assert/strict';
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Status } from '../../../main/contract/methods/methods.ts';
import type { NetworkStatus } from '../../../main/contract/takeover-schema.ts';
import {
  findElectron,
  runtimeEnvironment,
  runtimeSwitches,
} from '../../../tools/electron-runtime.ts';
import { connect, type CliClient } from '../../../main/api/cli/client.ts';
import { rssKib } from './process-memory.ts';
import { Machine, OUTSIDE_ADDRESS, sh, timeToResolve, until } from './machine.ts';

const HEADLESS = fileURLToPath(new URL('../../../dist/main/headless.js', import.meta.url));
const [scenario = '', folder = ''] = process.argv.slice(2);
const data = `${folder}/data`;
const SETTINGS = `dns:
  listen: ["127.0.0.1:5399", "[::1]:5399"]
  upstreams: [system]
  bootstrap: [system]
lists: []
rebinding: { enabled: false }
rules: ["||ads.example^"]
http: { listen: "127.0.0.1:8053" }
`;
const machine = new Machine('systemd-resolved');
machine.install();
await machine.boot();

fs.mkdirSync(data, { recursive: true });
process.env['SLUICE_JOURNAL_DIR'] = `${folder}/journal`;
const programs: ChildProcess[] = [];
process.on('exit', () => {
  for (const program of programs) program.kill('SIGKILL');
});

/** Starts `sluice run`; resolves when it is ready. */
async function start(settings = SETTINGS, ...words: string[]): Promise<ChildProcess> {
  fs.writeFileSync(`${data}/sluice.yaml`, settings);
  const program = spawn(process.execPath, [HEADLESS, 'run', '--data-dir', data, ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  programs.push(program);
  for await (const line of createInterface({ input: program.stdout })) {
    if (line.startsWith('ready ')) return program;
  }
  throw new Error('the program ended before it was ready');
}

/** Starts the desktop app on a display of its own; resolves when it is ready. */
async function startDesktop(): Promise<ChildProcess> {
  const runtime = await findElectron();
  if ('reason' in runtime) throw new Error(runtime.reason);
  const root = fileURLToPath(new URL('../../../', import.meta.url));
  const settings = `${folder}/desktop.yaml`;
  fs.writeFileSync(settings, SETTINGS);
  const words = [...runtimeSwitches(), root, '--data-dir', data, '--config', settings];
  // The display of its own: xvfb-run would stand between the app and its guardian's parent.
  const display = spawn('Xvfb', ['-displayfd', '1', '-nolisten', 'tcp'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  programs.push(display);
  const [number] = (await once(display.stdout, 'data')) as [Buffer];
  const app = spawn(runtime.executable, words, {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...process.env,
      ...runtimeEnvironment(runtime),
      DISPLAY: `:${number.toString().trim()}`,
    },
  });
  programs.push(app);
  for await (const line of createInterface({ input: app.stdout })) {
    if (line.startsWith('ready ')) return app;
  }
  throw new Error('the app ended before it was ready');
}

function sluice(...words: string[]): string {
  const all = [HEADLESS, '--data-dir', data, ...words];
  return execFileSync(process.execPath, all, { encoding: 'utf8' });
}

const serversOf = (link: string): string => sh(`resolvectl dns ${link}`).split(': ')[1] ?? '';
const isBlocked = (): boolean => sh('getent ahostsv4 x.ads.example || true').startsWith('0.0.0.0 ');

/** What the machine is like without us. */
function assertAsBefore(): void {
  assert.equal(serversOf('wlan0'), '10.1.0.1\n');
  assert.equal(serversOf('eth0'), '10.1.0.1 10.2.0.1\n');
  assert.match(sh('resolvectl domain eth0'), /: wired\.example ~office\.example\n/);
}

/** @returns how long the call took, milliseconds */
async function timed(client: CliClient, method: 'takeover' | 'restore'): Promise<number> {
  const startedAt = performance.now();
  await client.call(method, {});
  return performance.now() - startedAt;
}

/** Whether somebody in the network outside serves pages there. */
async function answers(address: string): Promise<boolean> {
  return fetch(`http://${address}/`, { redirect: 'manual' }).then(
    () => true,
    () => false,
  );
}

const scenarios: Record<string, () => Promise<unknown>> = {
  /** By hand: on, names come through us, off, as before. */
  async byHand() {
    const program = await start();
    assert.match(sluice('network'), /^off: this machine asks its own servers\n/);
    assert.match(sluice('takeover'), /^on: this machine asks Sluice: .*wlan0.* systemd-resolved/);
    assert.ok(isBlocked(), 'getaddrinfo asks us');
    assert.match(sh('resolvectl query y.ads.example'), /0\.0\.0\.0/);
    assert.notEqual(await timeToResolve(OUTSIDE_ADDRESS, 2_000), Infinity);
    const client = await connect(data);
    const network = (await client.call('network', {})) as NetworkStatus;
    assert.equal(network.takeover.state, 'on');
    assert.deepEqual(
      network.links.map(({ label, isCovered }) => [label, isCovered]),
      [
        ['eth0', true],
        ['wlan0', true],
      ],
    );
    const guardianKib = rssKib('guardian-watcher');
    assert.match(sluice('restore'), /wlan0: as before/);
    assertAsBefore();
    assert.ok(!isBlocked());
    program.kill('SIGTERM');
    const [code] = (await once(program, 'exit')) as [number];
    assert.equal(code, 0);
    return { guardianKib };
  },

  /** A kill, and what is left after it: the guardian, and by hand without an instance. */
  async killed() {
    const program = await start();
    sluice('takeover');
    assert.ok(isBlocked());
    program.kill('SIGKILL');
    const restoredMs = await timeToResolve(OUTSIDE_ADDRESS, 4_000);
    await until('the old servers', () => serversOf('wlan0') === '10.1.0.1\n', 2_000);
    assertAsBefore();
    assert.match(sluice('restore', '--only-leftovers'), /was not taken over/);
    await until('the network watch to end', () => rssKib('ip') === 0, 2_000);
    return { restoredMs };
  },

  /** App and guardian die together: the next start, or `restore` by hand, gives back. */
  async bothKilled() {
    for (const by of ['restore', 'start']) {
      const program = await start();
      sluice('takeover');
      // Stopped first, so that it starts no other guardian.
      program.kill('SIGSTOP');
      sh('pkill -KILL guardian-watche');
      program.kill('SIGKILL');
      await once(program, 'exit');
      await delay(300);
      if (serversOf('wlan0').startsWith('127.')) {
        if (by === 'restore') assert.match(sluice('restore', '--only-leftovers'), /as before/);
        else (await start()).kill('SIGTERM');
      }
      assertAsBefore();
    }
  },

  /** The desktop app: killed, started again with its switch as it was left, and quit. */
  async desktop() {
    const app = await startDesktop();
    await (await connect(data)).call('takeover', {});
    assert.ok(isBlocked());
    const guardianKib = rssKib('guardian-watcher');
    app.kill('SIGKILL');
    const restoredMs = await timeToResolve(OUTSIDE_ADDRESS, 4_000);
    await until('the old servers', () => serversOf('wlan0') === '10.1.0.1\n', 2_000);
    assertAsBefore();
    const next = await startDesktop();
    await until('the takeover, as the switch was left', isBlocked, 10_000);
    next.kill('SIGTERM');
    await once(next, 'exit');
    assertAsBefore();
    return { guardianKib, restoredMs };
  },

  /** The setting takes over at start, and the end gives back. */
  async bySetting() {
    const program = await start(`${SETTINGS}systemDns: { takeOver: true }\n`);
    await until('the takeover', isBlocked, 5_000);
    program.kill('SIGTERM');
    const [code] = (await once(program, 'exit')) as [number];
    assert.equal(code, 0);
    assertAsBefore();
  },

  /** The names of a tunnel go to its servers, through us. */
  async splitRoutes() {
    const source = fileURLToPath(new URL('./hold-tun.c', import.meta.url));
    sh(`cc -o ${folder}/hold-tun ${source}`);
    const holder = spawn(`${folder}/hold-tun`, ['tun0'], { stdio: 'ignore' });
    process.on('exit', () => holder.kill());
    await until('the tunnel', () => fs.existsSync('/sys/class/net/tun0'), 5_000);
    sh('ip addr add 10.8.0.2/24 dev tun0; ip link set tun0 up');
    sh('resolvectl dns tun0 10.2.0.1; resolvectl domain tun0 "~corp.example"');
    await start();
    sluice('takeover');
    const client = await connect(data);
    const listed = async (): Promise<string> =>
      JSON.stringify(await client.call('upstreams.list', {}));
    assert.match(await listed(), /"10\.2\.0\.1/);
    assert.match(sh('resolvectl dns tun0'), /: 10\.2\.0\.1\n/, 'the tunnel is left alone');
    assert.ok(isBlocked());
    sluice('restore');
  },

  /** A network with a login page: open at once, filtered again once somebody has logged in. */
  async portal() {
    const address = '10.1.0.3';
    const loggedIn = `${folder}/logged-in`;
    sh(`ip netns exec out ip addr add ${address}/24 dev out0`);
    const inside = (file: string, words: string[]): void => {
      const all = ['netns', 'exec', 'out', file, ...words];
      programs.push(spawn('ip', all, { stdio: 'ignore' }));
    };
    inside('dnsmasq', [
      ...['--keep-in-foreground', '--conf-file=/dev/null', '--no-resolv', '--no-hosts'],
      ...['--user=root', '--pid-file', '--bind-interfaces', `--listen-address=${address}`],
      `--address=/#/${address}`,
    ]);
    const page = `require('node:http').createServer((request, response) => {
      const isIn = require('node:fs').existsSync('${loggedIn}');
      response.writeHead(isIn ? 204 : 302, isIn ? {} : { location: 'http://login.example/' }).end();
    }).listen(80, '${address}')`;
    inside(process.execPath, ['-e', page]);
    await until('the login page', () => answers(address), 5_000);
    sh(`for link in wlan0 eth0; do resolvectl dns $link ${address}; done`);
    await start();
    const client = await connect(data);
    const state = async (): Promise<string> => {
      const { takeover } = (await client.call('status', {})) as Status;
      return takeover.state;
    };
    const addressOf = (name: string): string =>
      sh(`getent ahostsv4 ${name} || true`).split(' ')[0] ?? '';
    sluice('takeover');
    await until('the portal', async () => (await state()) === 'portal', 5_000);
    assert.equal(addressOf('one.ads.example'), address, 'nothing is filtered');
    fs.writeFileSync(loggedIn, '');
    await until('the end of it', async () => (await state()) === 'on', 10_000);
    assert.equal(addressOf('two.ads.example'), '0.0.0.0', 'filtered again');
    sluice('restore');
    assert.equal(serversOf('wlan0'), `${address}\n`);
  },

  /** Every link down: what is known is answered at once, the rest fails within the bound. */
  async offline() {
    await start();
    sluice('takeover');
    const { Resolver } = await import('node:dns/promises');
    const resolver = new Resolver({ timeout: 3_000, tries: 1 });
    resolver.setServers(['127.0.0.1:5399']);
    assert.deepEqual(await resolver.resolve4('kept.example'), [OUTSIDE_ADDRESS]);
    const client = await connect(data);
    const isCovered = async (): Promise<boolean> =>
      ((await client.call('network', {})) as NetworkStatus).links.length > 0;
    sh('ip link set wlan0 down; ip link set eth0 down');
    await until('the links to go', async () => !(await isCovered()), 5_000);
    const timesMs: number[] = [];
    const ask = async (name: string): Promise<string> => {
      const startedAt = performance.now();
      const found = await resolver.resolve4(name).then(
        ([address = '']) => address,
        (error: unknown) => String((error as NodeJS.ErrnoException).code),
      );
      timesMs.push(performance.now() - startedAt);
      return found;
    };
    for (let round = 0; round < 5; round++) {
      assert.equal(await ask('kept.example'), OUTSIDE_ADDRESS, 'kept');
      assert.equal(await ask('x.ads.example'), '0.0.0.0', 'blocked');
      assert.equal(await ask(`n${String(round)}.example`), 'ESERVFAIL', 'unknown');
    }
    sh('ip link set wlan0 up; ip link set eth0 up; ip route replace default via 10.1.0.1');
    await until('names again', async () => (await ask('back.example')) === OUTSIDE_ADDRESS, 5_000);
    return { offlineMs: timesMs.slice(0, 15) };
  },

  /** Port 53 belongs to somebody: named, with a way round, and the app moves to another port. */
  async portTaken() {
    const words = ['--keep-in-foreground', '--conf-file=/dev/null', '--no-resolv', '--no-hosts'];
    const holder = spawn('dnsmasq', [...words, '--listen-address=127.0.0.1', '--bind-interfaces'], {
      stdio: 'ignore',
    });
    programs.push(holder);
    await until('dnsmasq', () => sh('ss -Hlun').includes('127.0.0.1:53 '), 5_000);
    const who = `dnsmasq .*process ${String(holder.pid)}`;
    // Alone: beside an address that can be bound the program starts, and health tells of the other.
    const settings = SETTINGS.replace('"127.0.0.1:5399", "[::1]:5399"', '"127.0.0.1:53"');
    fs.writeFileSync(`${data}/sluice.yaml`, settings);
    const run = [HEADLESS, 'run', '--data-dir', data];
    const refused = spawn(process.execPath, run, { stdio: ['ignore', 'ignore', 'pipe'] });
    let said = '';
    refused.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    assert.deepEqual((await once(refused, 'close'))[0], 3);
    assert.match(said, new RegExp(`${who}.*--listen 127\\.0\\.0\\.2:53;.*stop dnsmasq`));
    await start(settings, '--port-fallback');
    const { notices } = (await (await connect(data)).call('status', {})) as Status;
    assert.match(notices.join(' '), new RegExp(`on port 5353 instead: .*${who}`));
  },

  /** A user whom the bus does not let: one clear sentence, and nothing is changed. */
  async normalUser() {
    const home = `${folder}/user`;
    sh(`chmod 755 ${folder}/.. ${folder}; mkdir -p ${home}; chown 1000:1000 ${home} ${data}`);
    process.env['SLUICE_JOURNAL_DIR'] = `${home}/journal`;
    fs.writeFileSync(`${data}/sluice.yaml`, SETTINGS);
    sh(`chown 1000:1000 ${data}/sluice.yaml`);
    const asUser = ['--reuid', '1000', '--regid', '1000', '--clear-groups', process.execPath];
    const run = (...words: string[]) => {
      const child = spawn('setpriv', [...asUser, HEADLESS, ...words, '--data-dir', data], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { ...process.env, HOME: home },
      });
      programs.push(child);
      return child;
    };
    await once(run('run').stdout, 'data');
    const command = run('takeover');
    let said = '';
    command.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const [code] = (await once(command, 'close')) as [number];
    assert.notEqual(code, 0);
    assert.match(
      said,
      /this user may not change the servers of systemd-resolved: install the polkit/,
    );
    assert.match(said, /"sluice network".*it was before\)\n$/);
    assert.match(sluice('network'), /polkit-1\/rules\.d\/60-sluice-resolver\.rules/);
    assertAsBefore();
    assert.deepEqual(fs.readdirSync(`${home}/journal`), []);
    assert.equal(rssKib('guardian-watcher'), 0, 'no guardian is left');
  },

  /** Lookups at 200 a second over on, off, on, off: none is lost; and how long each takes. */
  async switching() {
    await start();
    const client = await connect(data);
    const { lookup } = await import('node:dns/promises');
    const asking = new Set<Promise<void>>();
    let asked = 0;
    let lost = 0;
    const timer = setInterval(() => {
      const one = lookup(`q${String(asked++)}.example`, { family: 4 })
        .then(() => undefined)
        .catch(() => {
          lost++;
        })
        .finally(() => asking.delete(one));
      asking.add(one);
    }, 5);
    await delay(500);
    const onMs: number[] = [];
    const offMs: number[] = [];
    for (let round = 0; round < 3; round++) {
      onMs.push(await timed(client, 'takeover'));
      await delay(300);
      offMs.push(await timed(client, 'restore'));
      await delay(300);
    }
    clearInterval(timer);
    await Promise.all(asking);
    assertAsBefore();
    return { onMs, offMs, asked, lost };
  },
};

const run = scenarios[scenario];
assert.ok(run, `no scenario ${scenario}`);
const figures = await run();
process.stdout.write(`${JSON.stringify(figures ?? {})}\n`);
process.exit(0);
