/**
 * What becomes of an error that nobody caught in the main thread, in both entries: it is counted,
 * shown in health and printed once per kind with its stack. It ends nothing: DNS is answered in
 * threads of their own, and every other part of the main thread goes on as well. The threads have
 * keepers that start them again.
 *
 * Only before the program answers does it end the process, so that whoever started it tries again;
 * not for want of handles or memory, which the start survives.
 */
import { LIMITS } from '../../contract/limits.ts';

/** What is told of them. */
export interface ErrorListener {
  setProblem(name: string, sentence: string | null): void;
}

export interface UncaughtOptions {
  /** Prints one line. */
  readonly say: (line: string) => void;
  /** Ends a program that does not answer yet. */
  readonly fail: (error: unknown) => void;
}

const STACK_LINES_MAX = 12;
/** Time after which the last one is no problem any more. */
const SHOWN_MS = 60 * 60_000;
const SHORTAGES: ReadonlySet<string> = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'ENOBUFS', 'EAGAIN']);

export class UncaughtErrors {
  readonly #options: UncaughtOptions;
  readonly #kinds = new Map<string, number>();
  #listener: ErrorListener | null = null;
  #last: { readonly text: string; readonly atMs: number } | null = null;
  #count = 0;
  #hideTimer: NodeJS.Timeout | undefined;

  constructor(options: UncaughtOptions) {
    this.#options = options;
  }

  /** How many there were. */
  get count(): number {
    return this.#count;
  }

  /** From here on they come here, and rejections that nobody handles, which Electron only prints. */
  watch(): void {
    for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
      process.on(event, (error: unknown) => {
        this.take(error);
      });
    }
  }

  /** The program answers. @param listener  gets what came before, too */
  answers(listener: ErrorListener): void {
    this.#listener = listener;
    this.#show();
  }

  take(error: unknown): void {
    this.#count++;
    this.#last = { text: messageOf(error), atMs: Date.now() };
    this.#print(error);
    if (this.#listener === null && !isShortage(error)) this.#options.fail(error);
    else this.#show();
  }

  #print(error: unknown): void {
    const kind = kindOf(error);
    const seen = this.#kinds.get(kind) ?? 0;
    if (seen === 0 && this.#kinds.size >= LIMITS.uncaughtKindsMax) return;
    this.#kinds.set(kind, seen + 1);
    if (seen > 0) return;
    this.#options.say(`an error was not expected, and DNS goes on: ${messageOf(error)}`);
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    for (const line of stack.split('\n').slice(1, STACK_LINES_MAX)) this.#options.say(line);
  }

  #show(): void {
    if (this.#last === null || this.#listener === null) return;
    const { text, atMs } = this.#last;
    const at = new Date(atMs).toLocaleTimeString('sv-SE');
    const times = this.#count === 1 ? 'once' : `${String(this.#count)} times`;
    this.#listener.setProblem(
      'uncaught',
      `An error inside Sluice was not expected, ${times}, last at ${at}; DNS goes on: ${text}.`,
    );
    clearTimeout(this.#hideTimer);
    this.#hideTimer = setTimeout(() => {
      this.#listener?.setProblem('uncaught', null);
    }, SHOWN_MS).unref();
  }
}

/** Whether the machine ran out of something that comes back. */
export function isShortage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && SHORTAGES.has(String(error.code));
}

/** The same for errors that come from the same place. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error).slice(0, 100);
  const place = (error.stack ?? '').split('\n').find((line) => line.startsWith('    at '));
  return `${error.name} ${place ?? error.message.slice(0, 100)}`;
}

function messageOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.replace(/\s*\n\s*/g, ' ').slice(0, 300);
}
