/**
 * The user's rules that end by themselves: "allow this for ten minutes". Owned by the service in
 * the main thread; they stand before all other rules, and never get into the settings file.
 *
 * They live in a small sealed file of their own, so that they survive a crash and a restart. What is
 * left of each is counted by a clock that nobody sets (remaining-time.ts); the end that is shown
 * follows the wall clock. One timer waits for the next end; `lookAtClock` serves machines that slept
 * meanwhile, or whose clock was set.
 */
import type { TemporaryRule } from '../policy/priority-rules.ts';
import { join } from 'node:path';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { SealedFile } from '../../system/sealed-file.ts';
import type { ServiceClock } from '../../system/clock.ts';
import { writeTrouble } from '../process/data-folder.ts';
import type { Health } from '../process/health.ts';
import {
  elapsedBetween,
  isFiniteNumber,
  momentNow,
  parseMoment,
  type Moment,
} from '../process/remaining-time.ts';
import { checkRule, ruleSubject } from './rule-edits.ts';

const FILE_NAME = 'temporary-rules.json';
const MINUTE_MS = 60_000;
const SPAN_MS_MAX = LIMITS.temporaryMinutesMax * MINUTE_MS;
/** A wall clock that differs this much from what is left was set; the shown ends then move. */
const DRIFT_MS = 2_000;

/** What the file holds: the ends were right by the wall clock of `at`; null in older files. */
interface Saved {
  readonly rules: readonly TemporaryRule[];
  readonly at: Moment | null;
}

export interface TemporaryRulesOptions {
  /** The data folder. */
  readonly directory: string;
  readonly clock: ServiceClock;
  /** Called after each change; the rules are already in `all`. */
  readonly onChange: () => void;
  /** Is told when they cannot be saved or read. */
  readonly health: Pick<Health, 'setNotice'>;
}

export class TemporaryRules {
  readonly #options: TemporaryRulesOptions;
  readonly #file: SealedFile<Saved>;
  #rules: readonly TemporaryRule[] = [];
  /** The moment by whose wall clock the ends in `#rules` are right. */
  #at: Moment;
  #cancelTimer: () => void = () => undefined;
  #saving: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(options: TemporaryRulesOptions) {
    this.#options = options;
    const path = join(options.directory, FILE_NAME);
    this.#file = new SealedFile({ path, kind: 'temporary-rules', parse: parseSaved });
    this.#at = momentNow(options.clock);
  }

  /** Reads what was saved; those that ended meanwhile are gone. Does not call back onChange. */
  static open(options: TemporaryRulesOptions): TemporaryRules {
    const made = new TemporaryRules(options);
    const found = made.#file.read();
    if (found.state === 'damaged') {
      made.#tell(`The temporary rules of before are gone: ${found.sentence}.`);
    }
    if (found.state === 'whole') made.#restore(found.value);
    made.#schedule();
    return made;
  }

  /** The next to end first. */
  get all(): readonly TemporaryRule[] {
    return this.#rules;
  }

  /**
   * Adds a rule, or gives one that is there another end. One that says the opposite about the same
   * name and client goes.
   *
   * @param rule     one that was checked
   * @param minutes  1..LIMITS.temporaryMinutesMax
   * @throws         AppError TOO_MANY beyond LIMITS.temporaryRulesMax
   */
  async add(rule: string, minutes: number): Promise<void> {
    this.#followClock();
    const kept = this.#without(rule);
    if (kept.length >= LIMITS.temporaryRulesMax) {
      const most = String(LIMITS.temporaryRulesMax);
      throw new AppError('TOO_MANY', `adding ${rule} failed: ${most} temporary rules exist`);
    }
    const endsAtMs = Math.round(this.#options.clock.wallMs() + minutes * MINUTE_MS);
    await this.#take([...kept, { rule, endsAtMs }]);
  }

  /** Ends a rule, given in any spelling, before its time. @returns whether it was there */
  async remove(rule: string): Promise<boolean> {
    const { key, action } = ruleSubject(rule);
    const kept = this.#rules.filter((other) => {
      const subject = ruleSubject(other.rule);
      return subject.key !== key || subject.action !== action;
    });
    if (kept.length === this.#rules.length) return false;
    await this.#take(kept);
    return true;
  }

  /** Ends what speaks about the same name and client: a lasting rule takes its place. */
  async replaceBy(rule: string): Promise<void> {
    const kept = this.#without(rule);
    if (kept.length < this.#rules.length) await this.#take(kept);
  }

  /** Ends what is over, and moves the shown ends after a clock that was set. Cheap. */
  lookAtClock(): void {
    if (this.#rules.length === 0) return;
    const hasMoved = this.#followClock();
    const nowMs = this.#options.clock.wallMs();
    const kept = this.#rules.filter(({ endsAtMs }) => endsAtMs > nowMs);
    if (hasMoved || kept.length < this.#rules.length) void this.#take(kept);
  }

  /** Resolves when nothing is being saved any more; what is left stays for the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer();
    await this.#saving;
  }

  /** Keeps what was left of each rule. No end lies further ahead than could be asked for. */
  #restore({ rules, at }: Saved): void {
    const now = this.#at;
    const thenMs = at === null ? now.wallMs : at.wallMs + elapsedBetween(at, now);
    this.#rules = rules
      .map(({ rule, endsAtMs }) => ({ rule, leftMs: endsAtMs - thenMs }))
      .filter(({ leftMs }) => leftMs > 0)
      .map(({ rule, leftMs }) => ({
        rule,
        endsAtMs: Math.round(now.wallMs + Math.min(leftMs, SPAN_MS_MAX)),
      }))
      .slice(0, LIMITS.temporaryRulesMax);
  }

  /** Moves the ends by what the wall clock went beside the time that passed. @returns whether */
  #followClock(): boolean {
    const now = momentNow(this.#options.clock);
    const setByMs = now.wallMs - this.#at.wallMs - elapsedBetween(this.#at, now);
    if (Math.abs(setByMs) <= DRIFT_MS) return false;
    this.#at = now;
    this.#rules = this.#rules.map(({ rule, endsAtMs }) => {
      return { rule, endsAtMs: Math.round(endsAtMs + setByMs) };
    });
    return this.#rules.length > 0;
  }

  #without(rule: string): readonly TemporaryRule[] {
    const { key } = ruleSubject(rule);
    return this.#rules.filter((other) => ruleSubject(other.rule).key !== key);
  }

  /** Tells the owner at once, and saves; the rules hold even when saving fails. */
  async #take(rules: readonly TemporaryRule[]): Promise<void> {
    this.#rules = rules.toSorted((left, right) => left.endsAtMs - right.endsAtMs);
    this.#schedule();
    this.#options.onChange();
    this.#saving = this.#save();
    await this.#saving;
  }

  #schedule(): void {
    this.#cancelTimer();
    const [next] = this.#rules;
    if (next === undefined || this.#closed) return;
    const waitMs = Math.max(1, next.endsAtMs - this.#options.clock.wallMs());
    this.#cancelTimer = this.#options.clock.after(waitMs, () => {
      this.lookAtClock();
      // The timer was early, or the clock was set meanwhile: the end is still to come.
      if (this.#rules[0] === next) this.#schedule();
    });
  }

  async #save(): Promise<void> {
    try {
      await this.#file.write({ rules: this.#rules, at: this.#at });
      this.#tell(null);
    } catch (error) {
      const reason = writeTrouble(error, this.#file.path);
      this.#tell(`Temporary rules are not remembered over a restart: ${reason}.`);
    }
  }

  #tell(sentence: string | null): void {
    this.#options.health.setNotice('temporary rules', sentence);
  }
}

/** A rule that no longer parses is left out. */
function parseSaved(json: unknown): Saved | undefined {
  const { rules, at } = (json ?? {}) as { rules?: unknown; at?: unknown };
  if (!Array.isArray(rules)) return undefined;
  return { rules: rules.filter(isTemporaryRule), at: parseMoment(at) ?? null };
}

function isTemporaryRule(value: unknown): value is TemporaryRule {
  if (typeof value !== 'object' || value === null) return false;
  const { rule, endsAtMs } = value as Partial<TemporaryRule>;
  if (typeof rule !== 'string' || !isFiniteNumber(endsAtMs)) return false;
  try {
    checkRule(rule);
    return true;
  } catch {
    return false;
  }
}
