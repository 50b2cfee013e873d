/**
 * What the launch scripts tell the person who started them: short lines on stderr, so that stdout
 * stays free for the program itself. Used by everything in tools/.
 */

/** Prints one line. */
export function say(text: string): void {
  process.stderr.write(`sluice: ${text}\n`);
}

/** A step that takes long enough for a person to wonder whether it hangs. */
export interface Step {
  /** Replaces the detail shown by the next line, e.g. "34 MB". */
  detail(text: string): void;
  /** Ends the lines; prints how long the step took. */
  done(): void;
  /** Ends the lines without a word: the caller says what went wrong. */
  failed(): void;
}

const LINE_EVERY_MS = 10_000;

/** Announces a long step and goes on with a line every ten seconds until it has ended. */
export function beginStep(title: string): Step {
  const startedMs = Date.now();
  let detail = '';
  const seconds = (): string => `${String(Math.round((Date.now() - startedMs) / 1000))} s`;
  say(`${title} ...`);
  const timer = setInterval(() => {
    say(`${title}: ${detail === '' ? '' : `${detail}, `}${seconds()}`);
  }, LINE_EVERY_MS);
  return {
    detail(text) {
      detail = text;
    },
    done() {
      clearInterval(timer);
      say(`${title}: done in ${seconds()}`);
    },
    failed() {
      clearInterval(timer);
    },
  };
}
