/**
 * Cuts a TCP byte stream into DNS messages: two length bytes, then the message (RFC 1035 §4.2.2).
 * Used by the TCP listener and by TCP upstreams.
 *
 * Chunks arrive as the network cuts them: a prefix split in two, several messages in one. Whole
 * messages are read where they lie in the chunk; only an unfinished one is copied, into a buffer
 * that grows with what has really arrived, never with what a prefix announces.
 *
 *     bytes:  …read… │ from ▸ unread │ to …   (a chunk, or the own buffer)
 */

const NOTHING = Buffer.alloc(0);
const PREFIX_BYTES = 2;

/** Reassembles the messages of one connection. Holds at most one message and one chunk. */
export class MessageReader {
  /** Where the message found by `next` lies; valid until `feed` or `settle`. */
  bytes: Buffer = NOTHING;
  start = 0;
  length = 0;
  #from = 0;
  #to = 0;
  #isOwn = false;

  /** Bytes that wait for the rest of their message, or for `next`. */
  get unread(): number {
    return this.#to - this.#from;
  }

  /** Takes what arrived. The chunk is read in place and may be kept until `settle`. */
  feed(chunk: Buffer): void {
    if (this.unread === 0) {
      this.bytes = chunk;
      this.#from = 0;
      this.#to = chunk.length;
      this.#isOwn = false;
      return;
    }
    this.#makeRoom(chunk.length);
    chunk.copy(this.bytes, this.#to);
    this.#to += chunk.length;
  }

  /** Moves to the next whole message: bytes[start, start + length). False when there is none. */
  next(): boolean {
    if (this.unread < PREFIX_BYTES) return false;
    const length = this.bytes.readUInt16BE(this.#from);
    if (this.unread < PREFIX_BYTES + length) return false;
    this.start = this.#from + PREFIX_BYTES;
    this.length = length;
    this.#from = this.start + length;
    return true;
  }

  /** Lets go of the chunk: call when `next` is done for now. */
  settle(): void {
    if (this.unread === 0) {
      this.bytes = NOTHING;
      this.#from = 0;
      this.#to = 0;
      this.#isOwn = false;
    } else if (!this.#isOwn) {
      this.#makeRoom(0);
    }
  }

  /** Makes the unread bytes our own, with room for `more` behind them. */
  #makeRoom(more: number): void {
    const unread = this.unread;
    if (this.#isOwn && this.bytes.length - this.#to >= more) return;
    if (this.#isOwn && this.bytes.length >= unread + more) {
      this.bytes.copyWithin(0, this.#from, this.#to);
    } else {
      const grown = Buffer.allocUnsafeSlow(Math.max(256, 2 * unread, unread + more));
      this.bytes.copy(grown, 0, this.#from, this.#to);
      this.bytes = grown;
      this.#isOwn = true;
    }
    this.#from = 0;
    this.#to = unread;
  }
}

/** One message with its prefix in one buffer, so that one write sends it whole (RFC 7766 §8). */
export function frameMessage(bytes: Uint8Array, start: number, length: number): Buffer {
  const framed = Buffer.allocUnsafe(PREFIX_BYTES + length);
  framed.writeUInt16BE(length, 0);
  framed.set(bytes.subarray(start, start + length), PREFIX_BYTES);
  return framed;
}
