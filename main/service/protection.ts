/**
 * The switch: filtering is on, paused until a time, or off until switched on.
 *
 * Owned by the service in the main thread. The state survives a restart in a small file. A pause
 * ends by itself, also when the machine slept or its clock was set meanwhile: what is left of it
 * is counted down by whichever clock went further, so no step of the wall clock makes it longer.
 */
import { readFile } from 'node:fs/promises';
import type { Protection } from '../contract/methods.ts';
import { LIMITS } from '../contract/limits.ts';
import { writeFileAtomic } from './atomic-file.ts';
import { writeTrouble } from './data-folder.ts';
import type { ServiceClock } from './clock.ts';

/** Longest time between two looks at the clocks during a pause. */
const TICK_MS = 1_000;
/** A wall clock that differs this much from what is left was set; the shown end then moves. */
const DRIFT_MS = 2_000;

export interface ProtectionOptions {
  readonly file: string;
  readonly clock: ServiceClock;
  /** Called after each change; the new state is already in `state`. */
  readonly onChange: () => void;
  /** Called when the state could not be saved; it holds until the program ends. */
  readonly onSaveFailed: (reason: string) => void;
}

/** What the file holds. */
interface Saved {
  readonly state: Protection['state'];
  readonly resumesAtMs: number | null;
  /** What was left when it was saved: bounds the pause when the clock went back meanwhile. */
  readonly remainingMs: number | null;
}

export class ProtectionSwitch {
  readonly #options: ProtectionOptions;
  #state: Protection = { state: 'on', resumesAtMs: null };
  #remainingMs = 0;
  #seenWallMs = 0;
  #seenMonotonicMs = 0;
  #cancelTick: () => void = () => undefined;
  #saving: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(options: ProtectionOptions) {
    this.#options = options;
  }

  /** Reads the saved state; one that is missing or unreadable means "on". Does not call back. */
  static async open(options: ProtectionOptions): Promise<ProtectionSwitch> {
    const made = new ProtectionSwitch(options);
    const saved = await readSaved(options.file);
    if (saved.state === 'off') made.#state = { state: 'off', resumesAtMs: null };
    if (saved.state === 'paused' && saved.resumesAtMs !== null) {
      const byClock = saved.resumesAtMs - options.clock.wallMs();
      const remaining = Math.min(byClock, saved.remainingMs ?? byClock);
      const isSteady = byClock - remaining < DRIFT_MS;
      if (remaining > 0) made.#startPause(remaining, isSteady ? saved.resumesAtMs : null);
    }
    return made;
  }

  get state(): Protection {
    return this.#state;
  }

  /** True while names are to be blocked. */
  get isFiltering(): boolean {
    return this.#state.state === 'on';
  }

  /** Stops filtering. @param minutes  how long, above 0; undefined until `resume` */
  async pause(minutes: number | undefined): Promise<Protection> {
    this.#cancelTick();
    if (minutes === undefined) this.#state = { state: 'off', resumesAtMs: null };
    else this.#startPause(Math.min(minutes, LIMITS.pauseMinutesMax) * 60_000);
    return this.#changed();
  }

  /** Filters again; harmless when it already does. */
  async resume(): Promise<Protection> {
    this.#cancelTick();
    this.#state = { state: 'on', resumesAtMs: null };
    return this.#changed();
  }

  /** Resolves when nothing is being saved any more. The state stays for the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTick();
    await this.#saving;
  }

  /** @param endMs  the end to show; null when it follows from what is left */
  #startPause(remainingMs: number, endMs: number | null = null): void {
    const { clock } = this.#options;
    this.#remainingMs = remainingMs;
    this.#seenWallMs = clock.wallMs();
    this.#seenMonotonicMs = clock.monotonicMs();
    const resumesAtMs = endMs ?? Math.round(this.#seenWallMs + remainingMs);
    this.#state = { state: 'paused', resumesAtMs };
    this.#scheduleTick();
  }

  #scheduleTick(): void {
    if (this.#closed) return;
    const delayMs = Math.max(1, Math.min(TICK_MS, this.#remainingMs));
    this.#cancelTick = this.#options.clock.after(delayMs, () => {
      this.#tick();
    });
  }

  #tick(): void {
    const { clock } = this.#options;
    const wallMs = clock.wallMs();
    const monotonicMs = clock.monotonicMs();
    this.#remainingMs -= Math.max(wallMs - this.#seenWallMs, monotonicMs - this.#seenMonotonicMs);
    this.#seenWallMs = wallMs;
    this.#seenMonotonicMs = monotonicMs;
    if (this.#remainingMs <= 0) {
      void this.resume();
      return;
    }
    const endMs = Math.round(wallMs + this.#remainingMs);
    if (Math.abs(endMs - (this.#state.resumesAtMs ?? 0)) > DRIFT_MS) {
      this.#state = { state: 'paused', resumesAtMs: endMs };
      void this.#changed();
    }
    this.#scheduleTick();
  }

  /** Tells the owner at once, and saves; the state holds even when saving fails. */
  async #changed(): Promise<Protection> {
    const now = this.#state;
    const isPaused = now.state === 'paused';
    const saved: Saved = { ...now, remainingMs: isPaused ? Math.round(this.#remainingMs) : null };
    this.#options.onChange();
    this.#saving = this.#saving.then(() => this.#save(`${JSON.stringify(saved)}\n`));
    await this.#saving;
    return now;
  }

  async #save(text: string): Promise<void> {
    try {
      await writeFileAtomic(this.#options.file, text, { mode: 0o600 });
    } catch (error) {
      this.#options.onSaveFailed(writeTrouble(error, this.#options.file));
    }
  }
}

async function readSaved(file: string): Promise<Saved> {
  const on: Saved = { state: 'on', resumesAtMs: null, remainingMs: null };
  try {
    const value = JSON.parse(await readFile(file, 'utf8')) as Partial<Saved> | null;
    const { state, resumesAtMs, remainingMs } = value ?? {};
    if (state !== 'off' && state !== 'paused') return on;
    return { state, resumesAtMs: finite(resumesAtMs), remainingMs: finite(remainingMs) };
  } catch {
    // No file yet, or not ours any more: filtering is the safe state.
    return on;
  }
}

function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
