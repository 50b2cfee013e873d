/**
 * The switch: filtering is on, paused until a time, or off until switched on.
 *
 * Owned by the service in the main thread. The state survives a restart in a small sealed file. A
 * pause ends by itself, also when the machine slept meanwhile; setting the wall clock makes it
 * neither longer nor shorter (remaining-time.ts).
 */
import type { Protection } from '../../contract/methods/methods.ts';
import { LIMITS } from '../../contract/limits.ts';
import { SealedFile } from '../../system/sealed-file.ts';
import { writeTrouble } from '../process/data-folder.ts';
import type { ServiceClock } from '../../system/clock.ts';
import {
  elapsedBetween,
  isFiniteNumber,
  momentNow,
  parseMoment,
  type Moment,
} from '../process/remaining-time.ts';

/** Longest time between two looks at the clocks during a pause. */
const TICK_MS = 1_000;
/** A wall clock that differs this much from what is left was set; the shown end then moves. */
const DRIFT_MS = 2_000;
const PAUSE_MS_MAX = LIMITS.pauseMinutesMax * 60_000;

export interface ProtectionOptions {
  readonly file: string;
  readonly clock: ServiceClock;
  /** Called after each change; the new state is already in `state`. */
  readonly onChange: () => void;
  /** Called when the state could not be saved; it holds until the program ends. */
  readonly onSaveFailed: (reason: string) => void;
  /** The saved state was damaged. @param sentence  what became of its file, no full stop */
  readonly onDamaged?: (sentence: string) => void;
}

/** What the file holds. */
interface Saved {
  readonly state: Protection['state'];
  readonly resumesAtMs: number | null;
  /** What was left of a pause at `at`; null without a pause. */
  readonly remainingMs: number | null;
  readonly at: Moment | null;
}

export class ProtectionSwitch {
  readonly #options: ProtectionOptions;
  #state: Protection = { state: 'on', resumesAtMs: null };
  readonly #file: SealedFile<Saved>;
  #remainingMs = 0;
  /** When `#remainingMs` was right. */
  #seen: Moment;
  #cancelTick: () => void = () => undefined;
  #saving: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(options: ProtectionOptions) {
    this.#options = options;
    this.#file = new SealedFile({ path: options.file, kind: 'protection', parse: parseSaved });
    this.#seen = momentNow(options.clock);
  }

  /** Reads the saved state; one that is missing or damaged means "on", the safe state. */
  static open(options: ProtectionOptions): ProtectionSwitch {
    const made = new ProtectionSwitch(options);
    const found = made.#file.read();
    if (found.state === 'damaged') options.onDamaged?.(found.sentence);
    if (found.state === 'whole') made.#restore(found.value);
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

  #restore({ state, resumesAtMs, remainingMs, at }: Saved): void {
    if (state === 'off') this.#state = { state: 'off', resumesAtMs: null };
    if (state !== 'paused' || remainingMs === null || at === null) return;
    const now = momentNow(this.#options.clock);
    const leftMs = Math.min(remainingMs, PAUSE_MS_MAX) - elapsedBetween(at, now);
    if (leftMs <= 0) return;
    const isSteady = Math.abs(now.wallMs + leftMs - (resumesAtMs ?? 0)) < DRIFT_MS;
    this.#startPause(leftMs, isSteady ? resumesAtMs : null);
  }

  /** @param endMs  the end to show; null when it follows from what is left */
  #startPause(remainingMs: number, endMs: number | null = null): void {
    this.#remainingMs = remainingMs;
    this.#seen = momentNow(this.#options.clock);
    const resumesAtMs = endMs ?? Math.round(this.#seen.wallMs + remainingMs);
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
    const now = momentNow(this.#options.clock);
    this.#remainingMs -= elapsedBetween(this.#seen, now);
    this.#seen = now;
    if (this.#remainingMs <= 0) {
      void this.resume();
      return;
    }
    const endMs = Math.round(now.wallMs + this.#remainingMs);
    if (Math.abs(endMs - (this.#state.resumesAtMs ?? 0)) > DRIFT_MS) {
      this.#state = { state: 'paused', resumesAtMs: endMs };
      void this.#changed();
    }
    this.#scheduleTick();
  }

  /** Tells the owner at once, and saves; the state holds even when saving fails. */
  async #changed(): Promise<Protection> {
    const now = this.#state;
    const pause =
      now.state === 'paused'
        ? { remainingMs: this.#remainingMs, at: this.#seen }
        : { remainingMs: null, at: null };
    this.#options.onChange();
    this.#saving = this.#file.write({ ...now, ...pause }).catch((error: unknown) => {
      this.#options.onSaveFailed(writeTrouble(error, this.#options.file));
    });
    await this.#saving;
    return now;
  }
}

function parseSaved(json: unknown): Saved | undefined {
  const { state, resumesAtMs, remainingMs, at } = (json ?? {}) as Partial<Saved>;
  const rest = { resumesAtMs: null, remainingMs: null, at: null };
  if (state === 'on' || state === 'off') return { state, ...rest };
  if (state !== 'paused' || !isFiniteNumber(resumesAtMs) || !isFiniteNumber(remainingMs)) {
    return undefined;
  }
  // A version that kept no moment knew the end and what was left: together they say when it was.
  const moment = parseMoment(at) ?? { ...NO_BOOT, wallMs: resumesAtMs - remainingMs };
  return { state, resumesAtMs, remainingMs, at: moment };
}

const NO_BOOT = { bootId: '', elapsedMs: 0 } as const;
