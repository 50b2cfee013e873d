/**
 * The user's rules that end by themselves: "allow this for ten minutes". Owned by the service in
 * the main thread; they stand before all other rules, and never get into the settings file.
 *
 * They live in a small file of their own, so that they survive a crash and a restart. Each ends at
 * a time of the wall clock. One timer waits for the next end; `lookAtClock` serves machines that
 * slept meanwhile, or whose clock was set.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { writeFileAtomic } from './atomic-file.ts';
import type { ServiceClock } from './clock.ts';
import { writeTrouble } from './data-folder.ts';
import type { Health } from './health.ts';
import { checkRule, ruleSubject } from './rule-edits.ts';

const FILE_NAME = 'temporary-rules.json';
const MINUTE_MS = 60_000;
/** Bytes that all rules can take, and as much again for their frame. */
const FILE_BYTES_MAX = LIMITS.temporaryRulesMax * 2_048;

export interface TemporaryRule {
  readonly rule: string;
  /** Milliseconds since 1970. */
  readonly endsAtMs: number;
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
  readonly #file: string;
  #rules: readonly TemporaryRule[] = [];
  #cancelTimer: () => void = () => undefined;
  #saving: Promise<void> = Promise.resolve();
  #closed = false;

  private constructor(options: TemporaryRulesOptions) {
    this.#options = options;
    this.#file = join(options.directory, FILE_NAME);
  }

  /** Reads what was saved; those that ended meanwhile are gone. Does not call back onChange. */
  static async open(options: TemporaryRulesOptions): Promise<TemporaryRules> {
    const made = new TemporaryRules(options);
    const nowMs = options.clock.wallMs();
    // A clock that was set back makes no rule live longer than it could be asked for.
    const latestMs = nowMs + LIMITS.temporaryMinutesMax * MINUTE_MS;
    const saved = await made.#read();
    made.#rules = saved
      .filter(({ endsAtMs }) => endsAtMs > nowMs)
      .map(({ rule, endsAtMs }) => ({ rule, endsAtMs: Math.min(endsAtMs, latestMs) }))
      .slice(0, LIMITS.temporaryRulesMax);
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

  /** Ends what is over by the wall clock. Cheap. */
  lookAtClock(): void {
    const nowMs = this.#options.clock.wallMs();
    const kept = this.#rules.filter(({ endsAtMs }) => endsAtMs > nowMs);
    if (kept.length < this.#rules.length) void this.#take(kept);
  }

  /** Resolves when nothing is being saved any more; what is left stays for the next start. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTimer();
    await this.#saving;
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
    const text = `${JSON.stringify({ rules: this.#rules })}\n`;
    this.#saving = this.#saving.then(() => this.#save(text));
    await this.#saving;
  }

  #schedule(): void {
    this.#cancelTimer();
    const [next] = this.#rules;
    if (next === undefined || this.#closed) return;
    const waitMs = Math.max(1, next.endsAtMs - this.#options.clock.wallMs());
    this.#cancelTimer = this.#options.clock.after(waitMs, () => {
      this.lookAtClock();
      // The clock was set back meanwhile: the end is still to come.
      if (this.#rules[0] === next) this.#schedule();
    });
  }

  async #save(text: string): Promise<void> {
    try {
      await writeFileAtomic(this.#file, text, { mode: 0o600 });
      this.#tell(null);
    } catch (error) {
      const reason = writeTrouble(error, this.#file);
      this.#tell(`Temporary rules are not remembered over a restart: ${reason}.`);
    }
  }

  #tell(sentence: string | null): void {
    this.#options.health.setNotice('temporary rules', sentence);
  }

  async #read(): Promise<TemporaryRule[]> {
    let text: string;
    try {
      text = await readFile(this.#file, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') {
        this.#tell('The temporary rules of before could not be read, and are gone.');
      }
      return [];
    }
    const saved = text.length <= FILE_BYTES_MAX ? parseSaved(text) : null;
    if (saved === null) {
      this.#tell('The file of the temporary rules was damaged, and they are gone.');
    }
    return saved ?? [];
  }
}

/** Null when the file is not ours any more; a rule that no longer parses is left out. */
function parseSaved(text: string): TemporaryRule[] | null {
  try {
    const { rules } = JSON.parse(text) as { rules?: unknown };
    return Array.isArray(rules) ? rules.filter(isTemporaryRule) : null;
  } catch {
    return null;
  }
}

function isTemporaryRule(value: unknown): value is TemporaryRule {
  if (typeof value !== 'object' || value === null) return false;
  const { rule, endsAtMs } = value as Partial<TemporaryRule>;
  if (typeof rule !== 'string' || !Number.isFinite(endsAtMs)) return false;
  try {
    checkRule(rule);
    return true;
  } catch {
    return false;
  }
}
