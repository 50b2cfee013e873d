/**
 * What the cache holds about a name, for people: made when `cache.inspect` is called, in the
 * data-plane thread that holds it; may allocate.
 */
import { LIMITS } from '../../contract/limits.ts';
import { AnswerName } from '../answer/answer-name.ts';
import { hasTarget, type Answer } from '../answer/answer.ts';
import { readName } from '../../dns/name.ts';
import {
  CLASS,
  readUint16,
  readUint32,
  RECORD_FIXED_BYTES,
  recordEnd,
  skipName,
  TYPE,
} from '../../dns/wire.ts';

/** One kept answer, or a failure that is remembered. */
export interface CachedItem {
  /** Of the question; 0 for an NXDOMAIN, which holds for every type. */
  readonly type: number;
  readonly qclass: number;
  readonly dnssecOk: boolean;
  readonly checkingDisabled: boolean;
  readonly rcode: number;
  /** REASON of a failure; 0 for an answer. */
  readonly failure: number;
  readonly ageSeconds: number;
  /** Negative: so long ago it expired. */
  readonly leftSeconds: number;
  /** Times it was asked for lately, 3 and more. */
  readonly hits: number;
  readonly bytes: number;
  /** Private addresses were left out. */
  readonly isStripped: boolean;
  /** Answer section, at most LIMITS.inspectRecordsMax. */
  readonly records: readonly CachedRecord[];
}

export interface CachedRecord {
  /** Presentation form. */
  readonly owner: string;
  readonly type: number;
  /** As stored, not aged. */
  readonly ttl: number;
  /** An address or a name in presentation form, else the form of RFC 3597 §5. */
  readonly data: string;
}

/** Reads the answer section, given the folded labels of its question. */
export function readRecords(
  answer: Answer,
  question: Uint8Array,
  from: number,
  to: number,
): CachedRecord[] {
  const { bytes, bodyAt, bodyLength } = answer;
  const end = bodyAt + bodyLength;
  const name = new AnswerName();
  const shown: CachedRecord[] = [];
  const textAt = (place: number): string =>
    name.read(answer, place, question, from, to) ? readName(name.name, 0, name.nameLength) : '?';
  let at = bodyAt;
  const count = Math.min(answer.answerCount, LIMITS.inspectRecordsMax);
  for (let index = 0; index < count; index++) {
    const fixed = skipName(bytes, at, end);
    const next = recordEnd(bytes, fixed, end);
    if (next < 0) break;
    const type = readUint16(bytes, fixed);
    const isInternet = readUint16(bytes, fixed + 2) === CLASS.internet;
    const dataAt = fixed + RECORD_FIXED_BYTES;
    const data =
      type === TYPE.cname
        ? textAt(dataAt)
        : dataText(bytes, isInternet ? type : 0, dataAt, next, textAt);
    shown.push({ owner: textAt(at), type, ttl: readUint32(bytes, fixed + 4), data });
    at = next;
  }
  return shown;
}

function dataText(
  bytes: Uint8Array,
  type: number,
  from: number,
  to: number,
  textAt: (place: number) => string,
): string {
  if (type === TYPE.a && to - from === 4) return bytes.slice(from, to).join('.');
  if (type === TYPE.aaaa && to - from === 16) return groups(bytes, from);
  if (hasTarget(type) && to - from > 2) {
    return `${String(readUint16(bytes, from))} ${textAt(from + 2)}`;
  }
  const hex = Buffer.from(bytes.slice(from, to)).toString('hex');
  return `\\# ${String(to - from)} ${hex}`.trimEnd();
}

/** Eight groups, the longest run of zeros left out. RFC 5952 §4. */
function groups(bytes: Uint8Array, from: number): string {
  const words = Array.from({ length: 8 }, (_, index) => readUint16(bytes, from + 2 * index));
  const text = words.map((word) => word.toString(16)).join(':');
  let [start, length] = [0, 0];
  for (const run of text.matchAll(/(?<![^:])0(:0)+(?![^:])/g)) {
    if (run[0].length > length) [start, length] = [run.index, run[0].length];
  }
  if (length === 0) return text;
  const head = text.slice(0, start).replace(/:$/, '');
  return `${head}::${text.slice(start + length).replace(/^:/, '')}`;
}
