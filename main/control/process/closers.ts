/** What was opened, to be closed in reverse. Used by compose.ts. */

/** Closes what was opened, last first, once. One failure does not keep the others open. */
export class Closers {
  readonly #stack: (() => Promise<void>)[] = [];
  #closing: Promise<void> | undefined;

  /** What is opened while everything is being closed is closed at once. */
  add(close: () => Promise<void>): void {
    if (this.#closing) this.#closing = this.#closing.then(close);
    else this.#stack.push(close);
  }

  close(): Promise<void> {
    this.#closing ??= this.#run();
    return this.#closing;
  }

  async #run(): Promise<void> {
    const errors: unknown[] = [];
    for (let close = this.#stack.pop(); close; close = this.#stack.pop()) {
      await close().catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw new AggregateError(errors, 'closing failed');
  }
}
