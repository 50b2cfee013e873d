/**
 * Buffers for UDP answers in flight. node:dgram may still read a buffer after `send` has returned,
 * so a buffer is written again only when its send has been reported done.
 *
 *     free:  [slot 7, slot 3, slot 9]      a stack; the last returned is the next used (warm cache)
 *     away:  slots the socket still holds; each returns itself through its own `sent` callback
 *
 * Slots are made on demand up to `slotsMax`, one callback each, so that sending allocates nothing
 * here. When all are away the socket is not draining, and the answer is given up (`sendFailed`).
 */
import { COUNTER } from '../contract/counters.ts';
import type { Counters } from '../engine/query/ports.ts';

/** One answer's bytes, and what the socket calls when it has let go of them. */
export interface SendSlot {
  readonly bytes: Uint8Array;
  readonly sent: (error: Error | null) => void;
}

/** A bounded pool of send buffers; belongs to one socket. */
export class SendSlots {
  readonly #free: SendSlot[] = [];
  readonly #slotBytes: number;
  readonly #slotsMax: number;
  readonly #counters: Counters;
  #made = 0;

  constructor(slotBytes: number, slotsMax: number, counters: Counters) {
    this.#slotBytes = slotBytes;
    this.#slotsMax = slotsMax;
    this.#counters = counters;
  }

  /** Slots that the socket holds now. */
  get away(): number {
    return this.#made - this.#free.length;
  }

  /** A slot to write into; null when every one is in flight. Give it back or send it. */
  take(): SendSlot | null {
    const slot = this.#free.pop();
    if (slot !== undefined) return slot;
    return this.#made < this.#slotsMax ? this.#make() : null;
  }

  /** Returns a slot that was not sent. */
  giveBack(slot: SendSlot): void {
    this.#free.push(slot);
  }

  #make(): SendSlot {
    this.#made++;
    const slot: SendSlot = {
      bytes: Buffer.allocUnsafeSlow(this.#slotBytes),
      sent: (error) => {
        if (error !== null) countFailedSend(this.#counters);
        this.#free.push(slot);
      },
    };
    return slot;
  }
}

/** Counts an answer that did not leave. */
export function countFailedSend(counters: Counters): void {
  const slots = counters.slots;
  slots[COUNTER.sendFailed] = (slots[COUNTER.sendFailed] as number) + 1;
}
