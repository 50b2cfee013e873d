/**
 * A machine to break: its own network, processes, /etc and /run, made with `unshare`, with this
 * file system below it. The real resolver owners run in it with a D-Bus of their own.
 *
 * Nothing outside is touched; closing ends every process inside at once, as a power cut would.
 */
import { execFile, execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { findTool } from '../../support/tools.ts';
import type { Binaries } from './owner-binaries.ts';

const SCRIPT = fileURLToPath(new URL('./sandbox.sh', import.meta.url));
const run = promisify(execFile);
const DISK_SIZE = '64M';

/** What a sandbox needs; false when all is there, for node:test's `skip`. */
export function missingForSandbox(): string | false {
  if (process.platform !== 'linux') return 'needs Linux';
  if (process.getuid?.() !== 0) return 'needs root, for namespaces of its own';
  const packages = { unshare: 'util-linux', nsenter: 'util-linux', ip: 'iproute2' };
  const more = { 'dbus-daemon': 'dbus', dnsmasq: 'dnsmasq-base', getent: 'libc-bin', cc: 'gcc' };
  const missing = Object.entries({ ...packages, ...more }).filter(([tool]) => !findTool(tool));
  if (missing.length === 0) return false;
  return `needs ${missing.map(([tool]) => tool).join(', ')}; install with: apt-get install ${missing.map(([, name]) => name).join(' ')}`;
}

export class Sandbox {
  /** The sandbox's folder outside: etc, boot_id and state lie in it. */
  readonly folder: string;
  readonly #holder: ChildProcess;

  private constructor(folder: string, holder: ChildProcess) {
    this.folder = folder;
    this.#holder = holder;
  }

  /**
   * @param binaries  laid over /usr and /etc; null for a sandbox without them
   * @param hasDisk   /etc and the folder `state` lie on a disk of their own, for `swapDisk`
   */
  static async open(binaries: Binaries | null, hasDisk = false): Promise<Sandbox> {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-sandbox-'));
    prepareFolder(folder, binaries);
    if (hasDisk) makeDisk(folder);
    const names = ['--net', '--mount', '--pid', '--ipc', '--uts', '--fork', '--mount-proc'];
    const command = ['sh', SCRIPT, folder, binaries?.usr ?? ''];
    const holder = spawn('unshare', [...names, '--kill-child', ...command], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const sandbox = new Sandbox(folder, holder);
    for await (const line of createInterface({ input: holder.stdout })) {
      if (line === 'ready') return sandbox;
    }
    await sandbox.close();
    throw new Error('the sandbox did not come up');
  }

  /** Arguments that run a command inside: `spawn('nsenter', sandbox.enter([...]))`. */
  enter(command: readonly string[]): string[] {
    const [child] = childrenOf(this.#holder.pid ?? 0);
    return ['-t', String(child), '-n', '-m', '-p', '-i', '-u', '--', ...command];
  }

  /** Runs a command inside. @returns its stdout; @throws when it fails, with its stderr */
  async run(...command: string[]): Promise<string> {
    const { stdout } = await run('nsenter', this.enter(command), { encoding: 'utf8' });
    return stdout;
  }

  /** Ends everything inside and removes the folder. */
  async close(): Promise<void> {
    const ended = new Promise((resolve) => this.#holder.once('exit', resolve));
    if (this.#holder.exitCode === null && this.#holder.signalCode === null) {
      this.#holder.kill('SIGKILL');
      await ended;
    }
    await run('chattr', ['-R', '-i', join(this.folder, 'etc')]).catch(() => undefined);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function prepareFolder(folder: string, binaries: Binaries | null): void {
  const etc = join(folder, 'etc');
  execFileSync('cp', ['-a', '/etc', etc]);
  if (binaries) execFileSync('cp', ['-a', `${binaries.etc}/.`, etc]);
  const user = 'systemd-resolve:x:992:992::/run/systemd:/usr/sbin/nologin\n';
  writeFileSync(join(etc, 'passwd'), user, { flag: 'a' });
  writeFileSync(join(etc, 'group'), 'systemd-resolve:x:992:\n', { flag: 'a' });
  writeFileSync(join(etc, 'resolv.conf'), 'nameserver 192.0.2.53\nsearch lan\n');
  writeFileSync(join(folder, 'boot_id'), `${randomUUID()}\n`);
  mkdirSync(join(folder, 'state'));
}

/** An ext4 image with etc and state; sandbox.sh mounts it. */
function makeDisk(folder: string): void {
  const content = join(folder, 'disk');
  mkdirSync(content);
  execFileSync('cp', ['-a', join(folder, 'etc'), join(folder, 'state'), content]);
  const image = join(folder, 'disk.img');
  execFileSync('mkfs.ext4', ['-q', '-d', content, image, DISK_SIZE], { stdio: 'pipe' });
}

/**
 * Called inside a sandbox with a disk, when nobody writes any more: the disk is then as a power cut
 * leaves it. The image holds only what was synced; the rest is in the memory of its file system.
 */
export function swapDisk(folder: string): void {
  const script = `cp --sparse=always "$0/disk.img" "$0/next.img"
    umount -l "$0/state" /etc "$0/disk"
    mv "$0/next.img" "$0/disk.img"
    mount -o loop,noatime,commit=3600 "$0/disk.img" "$0/disk"
    mount --bind "$0/disk/etc" /etc
    mount --bind "$0/disk/state" "$0/state"`;
  execFileSync('sh', ['-e', '-c', script, folder], { stdio: 'pipe' });
}

/** What was written so far is on the disk. */
export function syncDisk(folder: string): void {
  execFileSync('sync', ['-f', join(folder, 'state')], { stdio: 'pipe' });
}

function childrenOf(pid: number): number[] {
  const text = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, 'utf8');
  return text.trim().split(' ').map(Number);
}
