/**
 * Coarse timeouts for thousands of exchanges with one timer; used by the upstream pool.
 *
 *     slot:   0     1     2   … 2047        one slot a tick of 20 ms; 41 s round
 *             │     └ entry ⇄ entry         doubly linked through the entries themselves
 *             └ (empty)
 *
 * Adding, moving and removing are a few stores. While nothing is scheduled no timer runs, so that an
 * idle laptop sleeps; it stops only after a second of rest, since starting it costs more than an
 * empty tick.
 */
import { LIMITS } from '../../contract/limits.ts';
import type { Clock } from '../../engine/query/ports.ts';

/** Resolution: an entry is called at most this late, plus what the loop is busy. */
export const TICK_US = 20_000;
const SLOTS = 2_048;
/** Ticks of delay that show a busy loop: replies that wait in the sockets are read first then. */
const LATE_TICKS = 3;
/** Ticks without an entry after which the timer stops. */
const REST_TICKS = 50;

// What is waited for is also listened to for some time, at most as long again.
if (2 * LIMITS.upstreamTimeoutMsMax * 1_000 >= (SLOTS - 1) * TICK_US) {
  throw new Error('timer wheel: the longest wait must fit into one round');
}

/** What can be scheduled; the wheel owns these fields. */
export interface WheelEntry {
  wheelNext: WheelEntry | null;
  wheelPrevious: WheelEntry | null;
  /** Tick at which it is due; -1 when it is not scheduled. */
  wheelTick: number;
}

/** What the wheel calls. */
export interface WheelOwner<Entry extends WheelEntry> {
  /** The entry is due and no longer scheduled. */
  due(entry: Entry, nowUs: number): void;
  /** Nothing was scheduled for a while; the timer has stopped. */
  rested(): void;
}

/** A hashed timer wheel over one interval timer. */
export class TimerWheel<Entry extends WheelEntry> {
  readonly #clock: Clock;
  readonly #owner: WheelOwner<Entry>;
  readonly #slots: (Entry | null)[] = new Array<Entry | null>(SLOTS).fill(null);
  #count = 0;
  /** The last tick that was worked off. */
  #tick = 0;
  #restTicks = 0;
  #timer: NodeJS.Timeout | null = null;

  constructor(clock: Clock, owner: WheelOwner<Entry>) {
    this.#clock = clock;
    this.#owner = owner;
  }

  /** Schedules an entry, or moves it. @param atUs  on the clock; the past means the next tick */
  schedule(entry: Entry, atUs: number): void {
    this.cancel(entry);
    if (this.#timer === null) this.#start();
    const tick = Math.max(Math.ceil(atUs / TICK_US), this.#tick + 1);
    const slot = tick % SLOTS;
    const head = this.#slots[slot] ?? null;
    entry.wheelTick = tick;
    entry.wheelNext = head;
    entry.wheelPrevious = null;
    if (head !== null) head.wheelPrevious = entry;
    this.#slots[slot] = entry;
    if (this.#count++ === 0) this.#timer?.ref();
  }

  cancel(entry: Entry): void {
    if (entry.wheelTick < 0) return;
    const slot = entry.wheelTick % SLOTS;
    const next = entry.wheelNext;
    const previous = entry.wheelPrevious;
    if (previous !== null) previous.wheelNext = next;
    else this.#slots[slot] = next as Entry | null;
    if (next !== null) next.wheelPrevious = previous;
    entry.wheelNext = null;
    entry.wheelPrevious = null;
    entry.wheelTick = -1;
    if (--this.#count === 0) this.#timer?.unref();
  }

  /** Stops, and returns what was scheduled. */
  close(): Entry[] {
    const entries: Entry[] = [];
    for (let slot = 0; slot < SLOTS; slot++) {
      for (let entry = this.#slots[slot]; entry; entry = this.#slots[slot]) {
        this.cancel(entry);
        entries.push(entry);
      }
    }
    this.#stop();
    return entries;
  }

  #start(): void {
    this.#tick = Math.floor(this.#clock.nowUs() / TICK_US);
    this.#restTicks = 0;
    this.#timer = setInterval(() => {
      this.#onInterval();
    }, TICK_US / 1000).unref();
  }

  #stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
  }

  #onInterval(): void {
    const lateTicks = Math.floor(this.#clock.nowUs() / TICK_US) - this.#tick;
    if (lateTicks <= LATE_TICKS) this.#advance();
    else setImmediate(() => this.#advance());
  }

  #advance(): void {
    if (this.#timer === null) return;
    const nowUs = this.#clock.nowUs();
    const nowTick = Math.floor(nowUs / TICK_US);
    // After a suspension of more than a round every slot is due once.
    if (nowTick - this.#tick > SLOTS) this.#tick = nowTick - SLOTS;
    while (this.#tick < nowTick) {
      this.#workOff(++this.#tick, nowUs);
    }
    this.#restTicks = this.#count === 0 ? this.#restTicks + 1 : 0;
    if (this.#restTicks < REST_TICKS) return;
    this.#stop();
    this.#owner.rested();
  }

  /**
   * Calls what is due at a tick. Each call may schedule and cancel any entry, so the list is read
   * from its head again; what is due a round later (the timer was late) stays and is stepped over.
   */
  #workOff(tick: number, nowUs: number): void {
    const slot = tick % SLOTS;
    let entry = this.#slots[slot] ?? null;
    while (entry !== null) {
      if (entry.wheelTick > tick) {
        entry = entry.wheelNext as Entry | null;
        continue;
      }
      this.cancel(entry);
      this.#owner.due(entry, nowUs);
      entry = this.#slots[slot] ?? null;
    }
  }
}
