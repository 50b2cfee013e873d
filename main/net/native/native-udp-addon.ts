/**
 * Finds and loads the UDP add-on (main/native/udp.c), and says what it offers. Used by
 * native-udp-socket.ts; in any thread, each has its own instance.
 *
 * The add-on is optional. SLUICE_UDP=dgram leaves it unused, SLUICE_UDP=native makes its absence
 * an error, SLUICE_UDP_ADDON names another file (sanitizer builds; not in an
 * installed program).
 */
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { AppError } from '../../contract/errors.ts';
import { developmentVariable } from '../../contract/installed.ts';

/** Bit flags of `open`. */
export const OPEN_REUSE_PORT = 1;
export const OPEN_DUAL_STACK = 2;

/** Words of the control area, as in datagrams.h. */
export const CONTROL_QUEUED = 0;
export const CONTROL_FAILED = 1;

/** Words of a client's control area, as in client-sockets.h. */
export const CLIENT_QUEUED = 0;
export const CLIENT_LOST = 1;
export const CLIENT_BROKEN = 2;

/** Distance of two peer records, and how much of one is used; as in peer.h. */
export const PEER_STRIDE = 64;
export const PEER_BYTES = 48;

/** What `open` returns. The numbers are byte offsets into `block`; datagrams.h says of what. */
export interface UdpAddonSocket {
  readonly address: string;
  readonly port: number;
  readonly block: ArrayBuffer;
  readonly control: number;
  readonly lengths: number;
  readonly peers: number;
  readonly packets: number;
  readonly answerLengths: number;
  readonly answerOffsets: number;
  readonly answers: number;
  readonly queueLengths: number;
  readonly queueOffsets: number;
  readonly queuePeers: number;
  readonly queue: number;
  /** Sends the queue; what the kernel cannot take now goes later. */
  flush(): void;
  /** Receives no more. */
  stop(): void;
  ref(): void;
  unref(): void;
  /** To be called once; throws when it was. */
  close(onClosed: () => void): void;
}

/** What `openClient` returns. Offsets into `block`, in bytes; client-sockets.h says of what. */
export interface UdpAddonClient {
  readonly block: ArrayBuffer;
  readonly control: number;
  readonly failures: number;
  readonly lengths: number;
  readonly handles: number;
  readonly queueHandles: number;
  readonly queueLengths: number;
  readonly queueOffsets: number;
  readonly packets: number;
  readonly queue: number;
  readonly placeCount: number;
  readonly slots: number;
  readonly slotBytes: number;
  readonly queueMax: number;
  readonly queueBytes: number;
  /**
   * Opens a socket to a numeric address.
   *
   * @returns its handle, whose remainder by placeCount is its place, or -errno
   */
  connect(host: string, port: number): number;
  /** Closes a socket; its place may be given to the next one at once, its handle is not. */
  disconnect(handle: number): void;
  /** Sends the queue. */
  flush(): void;
  /** To be called once; every method throws afterwards. */
  close(): void;
}

export interface UdpAddon {
  readonly interfaceVersion: number;
  readonly slotBytes: number;
  readonly answerBytes: number;
  readonly queueMax: number;
  readonly queueBytes: number;
  /**
   * @param host         numeric address, IPv6 perhaps with a zone
   * @param flags        OPEN_…
   * @param slots        1..64 datagrams a batch
   * @param bufferBytes  wanted size of the kernel's buffers, 0 for its default
   * @param onBatch      gets the count of slots filled; 0 only reports failed sends
   * @throws Error whose code is the errno name
   */
  open(
    host: string,
    port: number,
    flags: number,
    slots: number,
    bufferBytes: number,
    onBatch: (count: number) => void,
  ): UdpAddonSocket;
  /**
   * A set of client sockets; it does not keep the process running.
   *
   * @param onBatch  gets the count of slots filled; 0 only reports losses and failures
   */
  openClient(onBatch: (count: number) => void): UdpAddonClient;
  /** Sockets and clients of this thread that are not closed yet. */
  openSockets(): number;
  /** Bounds the areas that glibc's malloc spreads over threads; for the whole process. */
  limitArenas(count: number): void;
  /** Returns to the system what malloc keeps free. Some milliseconds. */
  trimMemory(): void;
}

/** The add-on, or why there is none. */
export interface UdpAddonResult {
  readonly addon: UdpAddon | null;
  /** '' when loaded; else one line for the health report. */
  readonly reason: string;
}

const INTERFACE_VERSION = 4;

/** This thread's add-on once loaded. */
let loaded: UdpAddon | null = null;

/**
 * Loads the add-on, at most once a thread.
 *
 * @throws AppError CONFIG_INVALID when SLUICE_UDP=native and it cannot be loaded
 */
export function loadUdpAddon(env: NodeJS.ProcessEnv = process.env): UdpAddonResult {
  const wanted = env['SLUICE_UDP'];
  if (wanted === 'dgram') return { addon: null, reason: 'SLUICE_UDP=dgram' };
  const result =
    loaded === null
      ? load(developmentVariable('SLUICE_UDP_ADDON', env) ?? addonFile())
      : found(loaded);
  if (result.addon === null && wanted === 'native') {
    throw new AppError('CONFIG_INVALID', `SLUICE_UDP=native, but ${result.reason}`);
  }
  return result;
}

/** dist/native/<platform>-<arch>/udp.node, seen from the sources and from a build. */
export function addonFile(here: string = import.meta.url): string {
  const root = here.slice(0, here.lastIndexOf('/main/'));
  const folder = here.endsWith('.ts') ? `${root}/dist/native` : `${root}/native`;
  const unpacked = folder.replace('/app.asar/', '/app.asar.unpacked/');
  return fileURLToPath(`${unpacked}/${process.platform}-${process.arch}/udp.node`);
}

function found(addon: UdpAddon): UdpAddonResult {
  return { addon, reason: '' };
}

function load(file: string): UdpAddonResult {
  if (process.platform !== 'linux') return missing('batched UDP exists for Linux only');
  if (!existsSync(file)) return missing(`batched UDP is not built: no ${file}`);
  const target: { exports: Partial<UdpAddon> } = { exports: {} };
  try {
    process.dlopen(target, file);
  } catch (error) {
    return missing(`${file} cannot be loaded: ${error instanceof Error ? error.message : ''}`);
  }
  if (target.exports.interfaceVersion !== INTERFACE_VERSION) {
    return missing(`${file} belongs to another version; run npm run build`);
  }
  loaded = target.exports as UdpAddon;
  return found(loaded);
}

function missing(reason: string): UdpAddonResult {
  return { addon: null, reason };
}
