/**
 * A first-in, first-out queue of records of any size, in a stretch of one Int32Array.
 *
 *    first        head                tail            end (grows)      last
 *      |   free    | oldest ... newest |     free      |  not yet used  |
 *
 * and, once wrapped,
 *
 *      | ... newest |   free   | oldest ...   | filler |
 *                  tail       head                    end
 *
 * The first word of a record is its size in words; negative when it is dead (its owner gave it up,
 * or it is filler at the end). A record never wraps. `end` starts low and grows while the queue is
 * full of live records, so that memory which is never needed is never touched: the operating system
 * gives pages of a large buffer at their first use.
 */

/** Step by which the used stretch grows: 64 KiB. */
const GROW_WORDS = 16_384;

export class ArenaQueue {
  readonly #words: Int32Array;
  readonly #first: number;
  readonly #last: number;
  #end: number;
  #head: number;
  #tail: number;
  /** Words between head and tail, dead records included. */
  #used = 0;

  /** The stretch words[first, last). `first` is at least 1, so that 0 is never a position. */
  constructor(words: Int32Array, first: number, last: number) {
    this.#words = words;
    this.#first = first;
    this.#last = last;
    this.#end = Math.min(first + GROW_WORDS, last);
    this.#head = first;
    this.#tail = first;
  }

  /** Words that a record may have at most. */
  get capacity(): number {
    return this.#last - this.#first;
  }

  get isEmpty(): boolean {
    return this.#used === 0;
  }

  clear(): void {
    this.#used = 0;
    this.#head = this.#tail = this.#first;
  }

  /**
   * Makes room behind the newest record, for the caller to fill, size first.
   *
   * @returns  its position, or -1 when the oldest must go first
   */
  reserve(size: number): number {
    if (this.#used === 0) this.clear();
    const isWrapped = this.#used > 0 && this.#tail <= this.#head;
    if (isWrapped) return this.#head - this.#tail >= size ? this.#take(size) : -1;
    while (this.#end - this.#tail < size && this.#canGrow()) {
      this.#end = Math.min(this.#end + GROW_WORDS, this.#last);
    }
    if (this.#end - this.#tail >= size) return this.#take(size);
    if (this.#head - this.#first < size) return -1;
    const rest = this.#end - this.#tail;
    if (rest > 0) this.#words[this.#tail] = -rest;
    this.#used += rest;
    this.#tail = this.#first;
    return this.#take(size);
  }

  /** Position of the oldest record, -1 when there is none. */
  peek(): number {
    return this.#used === 0 ? -1 : this.#head;
  }

  /**
   * Takes the oldest record out. Its words stay readable until the next `reserve`, and may be moved
   * to where that leads with `copyWithin`, which allows for overlap.
   *
   * @returns  its position, or -1 when there is none
   */
  pop(): number {
    if (this.#used === 0) return -1;
    const position = this.#head;
    const size = Math.abs(this.#words[position] as number);
    this.#head += size;
    this.#used -= size;
    if (this.#head === this.#end) this.#head = this.#first;
    return position;
  }

  #take(size: number): number {
    const position = this.#tail;
    this.#tail += size;
    this.#used += size;
    return position;
  }

  /** While at least half is in use, growing is better than wrapping. */
  #canGrow(): boolean {
    return this.#end < this.#last && 2 * this.#used >= this.#end - this.#first;
  }
}
