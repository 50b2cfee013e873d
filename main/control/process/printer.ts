/**
 * Prints for the entries headless.ts and electron/main.ts. A terminal, pipe or file that takes no
 * more lines never ends the program: DNS goes on, and the lines that are lost are counted. What is
 * in a line cannot steer a terminal.
 */
import { terminalLine } from './terminal-text.ts';

export class Printer {
  #lost = 0;
  #reason = '';
  #onLost: (sentence: string) => void = () => undefined;

  constructor() {
    // Without a listener the event would end the process; the callback of each write counts it.
    for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  }

  /** A line of progress, on stderr. */
  say(line: string): void {
    this.#print(process.stderr, `sluice: ${terminalLine(line)}\n`);
  }

  /** A result, on stdout. */
  tell(line: string): void {
    this.#print(process.stdout, `${terminalLine(line)}\n`);
  }

  /** Gets one sentence whenever lines were lost, also before this call. */
  onLost(listener: (sentence: string) => void): void {
    this.#onLost = listener;
    if (this.#lost > 0) listener(this.#sentence());
  }

  #print(stream: NodeJS.WriteStream, text: string): void {
    stream.write(text, (error) => {
      if (!error) return;
      this.#lost++;
      // Later ones only say that the stream has ended.
      this.#reason ||= (error as NodeJS.ErrnoException).code ?? error.message;
      this.#onLost(this.#sentence());
    });
  }

  #sentence(): string {
    const lines = this.#lost === 1 ? '1 line' : `${String(this.#lost)} lines`;
    return `${lines} of output could not be printed (${this.#reason}).`;
  }
}
