/**
 * What a part of the hostile test consists of: cases, each with a criterion that it passes or not,
 * and the questions that were really asked meanwhile. A case in which nothing was asked has failed.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Questions {
  readonly sent: number;
  readonly answered: number;
  /** Answered otherwise than they should be. */
  readonly wrong: number;
  /** Longest time without a right answer while the program ran; null where it is not the matter. */
  readonly worstGapMs: number | null;
}

export interface CaseResult extends Questions {
  readonly name: string;
  /** Why it did not pass; '' when it did. */
  readonly failure: string;
  /** Figures worth keeping, e.g. a peak of memory. */
  readonly figures?: Readonly<Record<string, number | string>>;
}

export interface Setting {
  readonly seed: number;
  /** A few cases instead of all, for the suite. */
  readonly isShort: boolean;
  /** 0..below-1, from the seed. */
  readonly draw: (below: number) => number;
  readonly say: (line: string) => void;
}

export interface Part {
  readonly name: string;
  /** One sentence: when a case passes. */
  readonly criterion: string;
  run(setting: Setting): Promise<CaseResult[]>;
}

/** A failed criterion; its message is what the result says. */
export class Failure extends Error {}

export function expect(isMet: boolean, otherwise: string): void {
  if (!isMet) throw new Failure(otherwise);
}

/** What a case has to say when it is over, besides whether it passed. */
export interface Account {
  questions(): Questions;
  figures?(): Readonly<Record<string, number | string>>;
}

/**
 * Runs one case in a folder of its own.
 *
 * @param body  sets `account` as soon as questions are asked; throws when the criterion is not met
 */
export async function runCase(
  name: string,
  setting: Setting,
  body: (folder: string, account: (account: Account) => void) => Promise<void>,
): Promise<CaseResult> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-hostile-'));
  let account: Account = { questions: () => NONE };
  let failure = '';
  try {
    await body(folder, (given) => (account = given));
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  await rm(folder, { recursive: true, force: true, maxRetries: 5 }).catch(() => undefined);
  const questions = account.questions();
  if (failure === '' && questions.sent === 0) failure = 'no question was sent';
  if (failure === '' && questions.answered === 0) failure = 'no question was answered';
  if (failure !== '') setting.say(`  FAILED ${name}: ${failure.slice(0, 300)}`);
  const figures = account.figures?.();
  return { name, failure, ...questions, ...(figures && { figures }) };
}

const NONE: Questions = { sent: 0, answered: 0, wrong: 0, worstGapMs: null };

/** Numbers 0..below-1 from a seed (xorshift32). */
export function drawer(seed: number): (below: number) => number {
  let state = seed | 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}
