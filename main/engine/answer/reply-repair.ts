/**
 * Makes a well-formed reply of one that is not, where enough of it can be used. Called by the upstream
 * pool for replies that are to our query but that reply-check.ts finds malformed; rare, so it may
 * allocate.
 *
 * What other forwarders answer as well (test/net/odd-replies.test.ts asks two of them) is used:
 *
 *     bytes behind the last record          left out
 *     NSCOUNT or ARCOUNT too high, or       their records as far as the bytes go; the answer section
 *     a record there that is cut off        must be whole
 *     OPT                                   the first good one of the additional section is kept, all
 *                                           others are left out (RFC 6891 §6.1.1)
 *     a record that does not parse          left out; in the answer section only if something of what
 *                                           was asked for remains, and never an alias
 *     names compressed in RDATA where they  written out
 *     may not be (RFC 3597 §4)
 */
import { MARK_DROP, MARK_KEEP } from './answer-marks.ts';
import { AnswerRewriter } from './answer-rewriter.ts';
import { Answer } from './answer.ts';
import { isWellFormed, recordParses } from '../../dns/reply-check.ts';
import {
  FLAG,
  HEADER_BYTES,
  readUint16,
  recordEnd,
  skipName,
  TYPE,
  writeUint16,
} from '../../dns/wire.ts';

const ANCOUNT_AT = 6;
const NSCOUNT_AT = 8;
const ARCOUNT_AT = 10;

let rewriter: AnswerRewriter | null = null;

/**
 * @param reply        with the ID and question of a query of ours, TC clear
 * @param questionEnd  offset behind its question
 * @returns            a well-formed copy; null when the reply is of no use
 */
export function repairReply(reply: Uint8Array, questionEnd: number): Buffer | null {
  const usable = new UsableRecords(reply, questionEnd);
  if (!usable.find()) return null;
  const source = new Answer();
  source.bytes = reply;
  source.bodyAt = questionEnd;
  source.bodyLength = usable.end - questionEnd;
  source.recordCount = usable.marks.length;
  source.answerCount = usable.answers;
  source.authorityCount = Math.min(usable.marks.length, usable.additionalFrom) - usable.answers;
  const marks = Uint8Array.from(usable.marks);
  rewriter ??= new AnswerRewriter();
  if (!rewriter.rewrite(source, questionEnd - HEADER_BYTES, 0, marks, true)) return null;
  const { bytes, bodyLength, answerCount, authorityCount, additionalCount } = rewriter.answer;
  const repaired = Buffer.concat([reply.subarray(0, questionEnd), bytes.subarray(0, bodyLength)]);
  writeUint16(repaired, ANCOUNT_AT, answerCount);
  writeUint16(repaired, NSCOUNT_AT, authorityCount);
  writeUint16(repaired, ARCOUNT_AT, additionalCount);
  if (usable.isIncomplete) repaired[3] = (repaired[3] as number) & ~FLAG.authenticated;
  return isWellFormed(repaired, repaired.length, questionEnd) ? repaired : null;
}

/** Walks the records of a reply and marks those that can be used. */
class UsableRecords {
  /** A MARK_ for each record that is framed. */
  readonly marks: number[] = [];
  readonly answers: number;
  readonly additionalFrom: number;
  /** Behind the last record that is framed. */
  end: number;
  /** Something that AD speaks of is missing. RFC 4035 §3.2.3. */
  isIncomplete = false;
  readonly #reply: Uint8Array;
  readonly #count: number;
  readonly #asked: number;
  #hasOpt = false;
  #hasAsked = false;
  #lacksAsked = false;

  constructor(reply: Uint8Array, questionEnd: number) {
    this.#reply = reply;
    this.#asked = readUint16(reply, questionEnd - 4);
    this.answers = readUint16(reply, ANCOUNT_AT);
    this.additionalFrom = this.answers + readUint16(reply, NSCOUNT_AT);
    this.#count = this.additionalFrom + readUint16(reply, ARCOUNT_AT);
    this.end = questionEnd;
  }

  /** False when what remains is no answer to the question. */
  find(): boolean {
    const reply = this.#reply;
    for (let index = 0; index < this.#count; index++) {
      const fixed = skipName(reply, this.end, reply.length);
      const next = recordEnd(reply, fixed, reply.length);
      if (next < 0) {
        if (index < this.additionalFrom) this.isIncomplete = true;
        if (index < this.answers) return false;
        break;
      }
      const isGood = this.#isGood(index, fixed, next);
      this.marks.push(isGood ? MARK_KEEP : MARK_DROP);
      const type = readUint16(reply, fixed);
      if (isGood) this.#hasAsked ||= index < this.answers && type === this.#asked;
      else if (!this.#canDo(index, type)) return false;
      this.end = next;
    }
    return this.#hasAsked || !this.#lacksAsked;
  }

  #isGood(index: number, fixed: number, next: number): boolean {
    const reply = this.#reply;
    if (!recordParses(reply, this.end, fixed, next, reply.length)) return false;
    if (readUint16(reply, fixed) !== TYPE.opt) return true;
    if (this.#hasOpt || index < this.additionalFrom || reply[this.end] !== 0) return false;
    this.#hasOpt = true;
    return true;
  }

  /** Notes a record that is left out; false when the answer means nothing without it. */
  #canDo(index: number, type: number): boolean {
    if (type === TYPE.opt || index >= this.additionalFrom) return true;
    this.isIncomplete = true;
    if (index >= this.answers) return true;
    if (type === this.#asked) this.#lacksAsked = true;
    return type !== TYPE.cname;
  }
}
