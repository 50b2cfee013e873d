/**
 * Runs inside a sandbox: the network around it, and each kind of resolver owner that a Linux
 * machine may have, as the machine boots with it.
 *
 * `wlan0` and `eth0` lead to a namespace "out", where dnsmasq gives out addresses and answers every
 * name below "example" with OUTSIDE_ADDRESS.
 */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import * as fs from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

export const OUTSIDE_ADDRESS = '10.9.9.8';
/** What names get from the stand-in engine. */
export const ENGINE_ADDRESS = '10.99.0.1';

export const FLAVOURS = [
  'systemd-resolved',
  'networkmanager',
  'resolvconf',
  'resolv.conf file',
  'resolv.conf link',
  'resolv.conf immutable',
  'resolv.conf mounted',
] as const;
export type Flavour = (typeof FLAVOURS)[number];

const PORT_OF: Partial<Record<Flavour, number>> = { 'systemd-resolved': 5399 };
const OLD_FILE = 'nameserver 10.1.0.1\nsearch lan.example\noptions timeout:1 attempts:1\n';

export function enginePort(flavour: Flavour): number {
  return PORT_OF[flavour] ?? 53;
}

export function sh(script: string): string {
  return execFileSync('sh', ['-e', '-c', script], { encoding: 'utf8', stdio: 'pipe' });
}

export class Machine {
  readonly flavour: Flavour;
  #daemons: ChildProcess[] = [];

  constructor(flavour: Flavour) {
    this.flavour = flavour;
  }

  /** What is on the disk before the first boot. */
  install(): void {
    fs.rmSync('/etc/resolv.conf', { force: true });
    fs.writeFileSync('/etc/nsswitch.conf', 'hosts: files dns\n');
    switch (this.flavour) {
      case 'systemd-resolved':
        fs.symlinkSync('../run/systemd/resolve/stub-resolv.conf', '/etc/resolv.conf');
        break;
      case 'networkmanager':
        fs.writeFileSync('/etc/NetworkManager/NetworkManager.conf', NETWORK_MANAGER_CONF);
        break;
      case 'resolvconf':
        break;
      case 'resolv.conf link':
        fs.writeFileSync('/etc/resolv.static', OLD_FILE);
        fs.symlinkSync('resolv.static', '/etc/resolv.conf');
        break;
      case 'resolv.conf file':
      case 'resolv.conf immutable':
        fs.writeFileSync('/etc/resolv.conf', OLD_FILE);
        fs.chmodSync('/etc/resolv.conf', 0o640);
        fs.chownSync('/etc/resolv.conf', 0, 12);
        if (this.flavour.endsWith('immutable')) sh('chattr +i /etc/resolv.conf');
        break;
      case 'resolv.conf mounted':
        fs.writeFileSync('/etc/resolv.mounted', OLD_FILE);
        fs.writeFileSync('/etc/resolv.conf', '');
    }
  }

  /** Links up, owner running and set. */
  async boot(): Promise<void> {
    sh(NETWORK);
    this.#daemon('ip', ['netns', 'exec', 'out', 'dnsmasq', ...DNSMASQ]);
    if (this.flavour === 'networkmanager') sh('ip link set wlan0 up; ip link set eth0 up');
    else sh(STATIC_ADDRESSES);
    switch (this.flavour) {
      case 'systemd-resolved':
        await this.#startResolved();
        break;
      case 'networkmanager':
        await this.#startNetworkManager();
        break;
      case 'resolvconf':
        sh('printf "nameserver 10.1.0.1\\nsearch lan.example\\n" | resolvconf -a wlan0');
        break;
      case 'resolv.conf mounted':
        sh('mount --bind /etc/resolv.mounted /etc/resolv.conf');
        break;
      default:
        break;
    }
    await until('the network to answer', () => resolves(OUTSIDE_ADDRESS, 1_000), 15_000);
  }

  /**
   * Power cut: every daemon ends at once, /run and the links are gone, the next boot is another.
   *
   * @param swapDisk  puts what was synced in the place of what was written, see sandbox.ts
   */
  async cutPower(swapDisk: () => void = () => undefined): Promise<void> {
    const ended = this.#daemons.map(
      (one) =>
        new Promise((resolve) => (one.exitCode === null ? one.once('exit', resolve) : resolve(0))),
    );
    for (const daemon of this.#daemons) daemon.kill('SIGKILL');
    await Promise.all(ended);
    this.#daemons = [];
    sh(`ip link del wlan0; ip link del eth0; ip netns del out; true
      if mountpoint -q /etc/resolv.conf; then umount -l /etc/resolv.conf; fi
      for one in resolvconf NetworkManager systemd/resolve dbus; do find /run/$one -mindepth 1 -delete; done`);
    fs.writeFileSync('/proc/sys/kernel/random/boot_id', `${crypto.randomUUID()}\n`);
    swapDisk();
  }

  async #startResolved(): Promise<void> {
    await this.#startBus();
    fs.mkdirSync('/run/systemd/resolve', { recursive: true });
    sh('chown 992:992 /run/systemd/resolve');
    this.#daemon('/usr/lib/systemd/systemd-resolved', []);
    await until('resolved', () => works(RESOLVED_RUNS), 10_000);
    sh(`resolvectl dns wlan0 10.1.0.1; resolvectl domain wlan0 lan.example
      resolvectl dns eth0 10.1.0.1 10.2.0.1; resolvectl domain eth0 wired.example ~office.example`);
  }

  async #startNetworkManager(): Promise<void> {
    await this.#startBus();
    this.#daemon('NetworkManager', ['--no-daemon']);
    const ready = 'nmcli -g GENERAL.STATE device show wlan0 | grep -q ^100';
    await until('NetworkManager', () => works(ready), 20_000);
  }

  async #startBus(): Promise<void> {
    fs.mkdirSync('/run/dbus', { recursive: true });
    this.#daemon('dbus-daemon', ['--system', '--nofork', '--nopidfile']);
    await until('D-Bus', () => fs.existsSync('/run/dbus/system_bus_socket'), 5_000);
  }

  #daemon(file: string, args: readonly string[]): void {
    this.#daemons.push(spawn(file, args, { stdio: 'ignore' }));
  }
}

/** True when the stub finds a name never asked before, below a zone, at that address. */
export async function resolves(
  address: string,
  timeoutMs: number,
  zone = 'example',
): Promise<boolean> {
  const name = `n${Math.random().toString(36).slice(2)}.${zone}`;
  const child = spawn('getent', ['ahostsv4', name], { stdio: ['ignore', 'pipe', 'ignore'] });
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => (text += chunk.toString()));
  const ended = new Promise((resolve) => child.once('close', resolve));
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs);
  await ended;
  clearTimeout(timer);
  return text.startsWith(`${address} `);
}

/**
 * Asks the stub again and again, each time without waiting for the time before.
 *
 * @returns milliseconds until a question was answered from there; Infinity when none was in time
 */
export async function timeToResolve(
  address: string,
  withinMs: number,
  zone = 'example',
): Promise<number> {
  const startedAt = performance.now();
  let found = Infinity;
  const asking: Promise<void>[] = [];
  while (found === Infinity && performance.now() - startedAt < withinMs) {
    const left = Math.max(100, withinMs - (performance.now() - startedAt));
    asking.push(
      resolves(address, left, zone).then((answered) => {
        if (answered) found = Math.min(found, performance.now() - startedAt);
      }),
    );
    await Promise.race([delay(100), ...asking.slice(-1)]);
    await delay(30);
  }
  if (found === Infinity) await Promise.all(asking);
  return found;
}

export async function until(
  what: string,
  check: () => boolean | Promise<boolean>,
  withinMs: number,
): Promise<void> {
  const endMs = performance.now() + withinMs;
  while (!(await check())) {
    if (performance.now() > endMs) throw new Error(`waited too long for ${what}`);
    await delay(50);
  }
}

function works(script: string): boolean {
  try {
    sh(script);
    return true;
  } catch {
    return false;
  }
}

const NETWORK = `
mkdir -p /run/netns
ip netns add out
ip link add wlan0 type veth peer name out0 netns out
ip link add eth0 type veth peer name out1 netns out
ip netns exec out sh -c 'ip link set lo up; ip link set out0 up; ip link set out1 up
  ip addr add 10.1.0.1/24 dev out0; ip addr add 10.2.0.1/24 dev out1'`;

const STATIC_ADDRESSES = `
ip addr add 10.1.0.2/24 dev wlan0; ip link set wlan0 up
ip addr add 10.2.0.2/24 dev eth0; ip link set eth0 up
ip route add default via 10.1.0.1`;

const RESOLVED_RUNS = `busctl call org.freedesktop.DBus /org/freedesktop/DBus org.freedesktop.DBus \\
  NameHasOwner s org.freedesktop.resolve1 | grep -q true`;

const DNSMASQ = [
  ...['--keep-in-foreground', '--conf-file=/dev/null', '--no-resolv', '--no-hosts', '--user=root'],
  ...['--bind-interfaces', '--listen-address=10.1.0.1,10.2.0.1', '--leasefile-ro'],
  '--local-ttl=60',
  ...[`--address=/example/${OUTSIDE_ADDRESS}`, '--dhcp-option=option:domain-search,lan.example'],
  ...['--dhcp-range=10.1.0.50,10.1.0.90,1h', '--dhcp-range=10.2.0.50,10.2.0.90,1h'],
];

const NETWORK_MANAGER_CONF = `[main]
plugins=keyfile
dhcp=internal
auth-polkit=false
dns=default
rc-manager=file
[device]
match-device=*
managed=1
`;
