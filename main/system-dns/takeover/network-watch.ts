/**
 * Tells when the network changed and when the machine woke up. Runs in the main thread; the
 * takeover looks at its links again, and the data plane drops its upstream sockets.
 *
 * Linux: a child `ip monitor` reports what the kernel says (netlink). Everywhere, and should the
 * child not run, the addresses are compared every POLL_MS, which also notices a sleep: the wall
 * clock then went further than the monotonic one, which stands still meanwhile.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { watch, type FSWatcher } from 'node:fs';
import { networkInterfaces } from 'node:os';

export type NetworkEvent = 'changed' | 'resumed' | 'tick';

/** The shortest time between two looks that nobody asked for. */
export const POLL_MS = 10_000;
/** One change makes the kernel say a dozen things; they count as one when they come together. */
const GATHER_MS = 200;
const SLEPT_MS = 3_000;

/**
 * Becomes `ip monitor`. The kernel closes our end of its standard input however we end, also by
 * SIGKILL; whoever waits for that then ends it.
 */
const MONITOR = `exec 3<&0
{ read -r _ <&3; kill $$; } >/dev/null 2>&1 &
exec ip monitor link address route`;

export interface NetworkWatchOptions {
  /** 'tick' comes every POLL_MS when nothing else did. */
  readonly onEvent: (event: NetworkEvent) => void;
  readonly platform?: NodeJS.Platform;
  /** For tests. */
  readonly addresses?: () => string;
  readonly wallMs?: () => number;
  readonly monotonicMs?: () => number;
}

export class NetworkWatch {
  readonly #options: Required<NetworkWatchOptions>;
  readonly #poll: NodeJS.Timeout;
  #child: ChildProcess | null = null;
  #file: FSWatcher | null = null;
  #gathering: NodeJS.Timeout | null = null;
  #addresses: string;
  #lagMs: number;
  #isClosed = false;

  constructor(options: NetworkWatchOptions) {
    this.#options = {
      platform: process.platform,
      addresses: systemAddresses,
      wallMs: Date.now,
      monotonicMs: () => performance.now(),
      ...options,
    };
    this.#addresses = this.#options.addresses();
    this.#lagMs = this.#options.wallMs() - this.#options.monotonicMs();
    this.#poll = setInterval(() => {
      this.look();
    }, POLL_MS).unref();
    if (this.#options.platform !== 'linux') return;
    this.#follow();
    this.#watchFile();
  }

  /** Compares clocks and addresses now. Called by the timer; public for tests. */
  look(): void {
    const { addresses, wallMs, monotonicMs, onEvent } = this.#options;
    const lagMs = wallMs() - monotonicMs();
    const slept = lagMs - this.#lagMs > SLEPT_MS;
    this.#lagMs = lagMs;
    const now = addresses();
    const changed = now !== this.#addresses;
    this.#addresses = now;
    if (this.#child === null && this.#options.platform === 'linux') this.#follow();
    onEvent(slept ? 'resumed' : changed ? 'changed' : 'tick');
  }

  /** Resolves when the child has ended. Idempotent. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#poll);
    if (this.#gathering) clearTimeout(this.#gathering);
    this.#file?.close();
    const child = this.#child;
    if (child === null) return;
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.kill();
    await ended;
  }

  /** Without `ip` the child never starts, and the timer alone serves. */
  #follow(): void {
    const child = spawn('sh', ['-c', MONITOR], { stdio: ['pipe', 'pipe', 'ignore'] });
    this.#child = child;
    const gone = (): void => {
      if (this.#child === child) this.#child = null;
    };
    child.once('error', gone);
    child.once('close', gone);
    child.unref();
    // For want of handles there are no pipes, whatever the types say; the error event follows.
    const { stdin, stdout } = child as Partial<typeof child>;
    stdin?.on('error', () => undefined); // nothing is ever written
    stdout?.on('data', () => {
      this.#gather();
    });
  }

  /** Who writes /etc/resolv.conf tells nobody; the folder is watched, because files are renamed. */
  #watchFile(): void {
    try {
      this.#file = watch('/etc', { persistent: false }, (_type, name) => {
        if (name === 'resolv.conf') this.#gather();
      });
      this.#file.on('error', () => undefined); // the timer looks anyway
    } catch {
      // No watches left on this system: the timer looks anyway.
    }
  }

  #gather(): void {
    if (this.#isClosed || this.#gathering) return;
    this.#gathering = setTimeout(() => {
      this.#gathering = null;
      this.#addresses = this.#options.addresses();
      this.#options.onEvent('changed');
    }, GATHER_MS);
  }
}

let lastAddresses = '';

/** Those of the last look while there is no handle left to ask with (EMFILE). */
function systemAddresses(): string {
  try {
    lastAddresses = JSON.stringify(networkInterfaces());
  } catch {
    // nothing new
  }
  return lastAddresses;
}
