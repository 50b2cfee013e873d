/**
 * Splits the text of an event stream (text/event-stream) into the data of its messages.
 *
 * EventSource cannot send an Authorization header, hence this reader. Only `data` fields are used;
 * comments, names and ids are skipped. WHATWG HTML §9.2.6.
 */
export class EventStreamParser {
  readonly #charactersMax: number;
  #rest = '';

  /** @param charactersMax  longest message; a longer one makes `push` throw */
  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax;
  }

  /** Takes the next piece of text and returns the data of each message that it completes. */
  push(text: string): string[] {
    const messages = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = messages.pop() ?? '';
    if (this.#rest.length > this.#charactersMax) throw new Error('event stream message too long');
    return messages.map(dataOf).filter((data) => data !== '');
  }
}

function dataOf(message: string): string {
  return message
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trimStart())
    .join('\n');
}
