/**
 * UDP sockets towards servers that receive and send in batches (Linux, main/native/client.h); the
 * drop-in for `dgramClient` of udp-client.ts. One a data-plane thread, for all its upstreams.
 *
 *     send ─▶ queue ─flush, once a turn─▶ sendmmsg, one call for a run of messages to one socket
 *     sockets readable ─▶ recvmmsg from each ─▶ slots ─onBatch─▶ received, slot by slot
 */
import { constants } from 'node:os';
import { COUNTER } from '../../contract/counters.ts';
import type { Counters } from '../../engine/query/ports.ts';
import { FLAG } from '../../dns/wire.ts';
import { CLIENT_BROKEN, CLIENT_LOST, CLIENT_QUEUED } from '../native/native-udp-addon.ts';
import type { UdpAddon, UdpAddonClient } from '../native/native-udp-addon.ts';
import { sendFailureOf } from './network-error.ts';
import type { PlainServer } from '../server-address.ts';
import type { UdpClient, UdpClientSocket, UdpClientUser } from './udp-client.ts';
import { questionEnd } from '../../dns/wire.ts';

const EBADF = constants.errno.EBADF;
/** Bytes 6 to 12 of the header count answers, authorities and additional records. */
const COUNTS_START = 6;
const HEADER_BYTES = 12;

/** All client sockets of a thread. */
export class NativeUdpClient implements UdpClient {
  readonly #addon: UdpAddonClient;
  readonly #counters: Counters;
  readonly #control: Int32Array;
  readonly #failures: Int32Array;
  readonly #lengths: Uint32Array;
  readonly #handles: Uint32Array;
  readonly #queue: Uint8Array;
  readonly #queueHandles: Uint32Array;
  readonly #queueLengths: Uint32Array;
  readonly #queueOffsets: Uint32Array;
  /** The socket at each place. */
  readonly #sockets: (NativeClientSocket | null)[];
  #queueBytes = 0;
  /** Counts flushes: tells a socket whether something of it is still in the queue. */
  #flushes = 0;
  #isFlushScheduled = false;
  #isClosed = false;

  /** @param counters  only `sendFailed` is written */
  constructor(addon: UdpAddon, counters: Counters) {
    const client = addon.openClient((count) => {
      this.#receive(count);
    });
    const { block } = client;
    this.#addon = client;
    this.#counters = counters;
    this.#control = new Int32Array(block, client.control, CLIENT_LOST + 2);
    this.#failures = new Int32Array(block, client.failures, client.placeCount);
    this.#lengths = new Uint32Array(block, client.lengths, client.slots);
    this.#handles = new Uint32Array(block, client.handles, client.slots);
    this.#queue = new Uint8Array(block, client.queue, client.queueBytes);
    this.#queueHandles = new Uint32Array(block, client.queueHandles, client.queueMax);
    this.#queueLengths = new Uint32Array(block, client.queueLengths, client.queueMax);
    this.#queueOffsets = new Uint32Array(block, client.queueOffsets, client.queueMax);
    this.#sockets = new Array<NativeClientSocket | null>(client.placeCount).fill(null);
  }

  open(server: PlainServer, user: UdpClientUser): UdpClientSocket {
    const handle = this.#isClosed ? -EBADF : this.#addon.connect(server.address, server.port);
    const socket = new NativeClientSocket(this, handle, user);
    if (handle >= 0) this.#sockets[this.#placeOf(handle)] = socket;
    else setImmediate(() => socket.breakOff(-handle));
    return socket;
  }

  close(): void {
    if (this.#isClosed) return;
    this.flush();
    this.#isClosed = true;
    this.#sockets.fill(null);
    this.#addon.close();
  }

  /** Queues a copy. @returns the number of the flush that sends it; -1 when it does not fit */
  queue(handle: number, bytes: Uint8Array): number {
    const { length } = bytes;
    if (!this.#fits(length)) this.flush();
    if (this.#isClosed || !this.#fits(length)) return -1;
    const entry = this.#control[CLIENT_QUEUED] as number;
    this.#queue.set(bytes, this.#queueBytes);
    this.#queueHandles[entry] = handle;
    this.#queueLengths[entry] = length;
    this.#queueOffsets[entry] = this.#queueBytes;
    this.#queueBytes += length;
    this.#control[CLIENT_QUEUED] = entry + 1;
    if (!this.#isFlushScheduled) {
      this.#isFlushScheduled = true;
      setImmediate(this.#flushScheduled);
    }
    return this.#flushes + 1;
  }

  /** @param queuedFor  what `queue` returned last: it is to leave before the socket closes */
  closeSocket(handle: number, queuedFor: number): void {
    if (this.#isClosed || handle < 0) return;
    if (queuedFor > this.#flushes) this.flush();
    this.#sockets[this.#placeOf(handle)] = null;
    this.#addon.disconnect(handle);
  }

  /** Sends the queue now. */
  flush(): void {
    this.#flushes++;
    this.#queueBytes = 0;
    if (this.#isClosed || this.#control[CLIENT_QUEUED] === 0) return;
    this.#addon.flush();
  }

  readonly #flushScheduled = (): void => {
    this.#isFlushScheduled = false;
    this.flush();
    this.#readNews();
  };

  #placeOf(handle: number): number {
    return handle % this.#sockets.length;
  }

  #fits(length: number): boolean {
    const hasEntry = (this.#control[CLIENT_QUEUED] as number) < this.#queueLengths.length;
    return hasEntry && this.#queueBytes + length <= this.#queue.length;
  }

  #receive(count: number): void {
    const { block, packets, slotBytes } = this.#addon;
    for (let slot = 0; slot < count && !this.#isClosed; slot++) {
      const received = this.#lengths[slot] as number;
      const bytes = Buffer.from(block, packets + slot * slotBytes, received);
      const length = received === slotBytes ? cutToQuestion(bytes) : received;
      const handle = this.#handles[slot] as number;
      const socket = this.#sockets[this.#placeOf(handle)] ?? null;
      // A slot before may have closed the socket of this one, and opened another at its place.
      if (socket?.handle !== handle) continue;
      socket.received(length === received ? bytes : bytes.subarray(0, length));
    }
    this.#readNews();
  }

  /** What went wrong since it was last read. */
  #readNews(): void {
    const control = this.#control;
    const lost = control[CLIENT_LOST] as number;
    if (lost > 0) {
      const { slots } = this.#counters;
      slots[COUNTER.sendFailed] = (slots[COUNTER.sendFailed] as number) + lost;
      control[CLIENT_LOST] = 0;
    }
    if (control[CLIENT_BROKEN] === 0) return;
    control[CLIENT_BROKEN] = 0;
    for (let place = 0; place < this.#failures.length; place++) {
      const errno = this.#failures[place] as number;
      if (errno === 0) continue;
      this.#failures[place] = 0;
      this.#sockets[place]?.breakOff(errno);
    }
  }
}

class NativeClientSocket implements UdpClientSocket {
  /** Negative when it could not be opened. */
  readonly handle: number;
  readonly #client: NativeUdpClient;
  readonly #user: UdpClientUser;
  #queuedFor = 0;
  #isClosed = false;

  constructor(client: NativeUdpClient, handle: number, user: UdpClientUser) {
    this.handle = handle;
    this.#client = client;
    this.#user = user;
  }

  send(bytes: Buffer): boolean {
    if (this.#isClosed) return false;
    // A socket that could not be opened says so in a moment, to all who wait on it.
    if (this.handle < 0) return true;
    const flush = this.#client.queue(this.handle, bytes);
    if (flush < 0) return false;
    this.#queuedFor = flush;
    return true;
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#client.closeSocket(this.handle, this.#queuedFor);
  }

  received(bytes: Buffer): void {
    if (!this.#isClosed) this.#user.received(bytes);
  }

  /** @param errno  why; 0 when it is not known */
  breakOff(errno: number): void {
    if (!this.#isClosed) this.#user.broken(sendFailureOf(errno));
  }
}

/**
 * Makes a datagram that was too long for its slot the truncated reply that it has become, so that
 * it is asked for again over TCP. RFC 2181 §9.
 *
 * @returns the length it has now
 */
function cutToQuestion(bytes: Buffer): number {
  const end = questionEnd(bytes, bytes.length);
  if (end > bytes.length) return bytes.length;
  bytes[2] = (bytes[2] as number) | FLAG.truncated;
  bytes.fill(0, COUNTS_START, HEADER_BYTES);
  return end;
}
