/**
 * Messages for explanations: a kept answer written as the reply it once was, and the records of any
 * answer as text. Used by explain-run.ts's callers in the main thread; may allocate.
 */
import { LIMITS } from '../../contract/limits.ts';
import { Answer } from '../answer/answer.ts';
import { readRecords, type CachedItem, type CachedRecord } from '../cache/cache-view.ts';
import { lowerCase, writeName } from '../../dns/name.ts';
import {
  CLASS,
  FLAG,
  HEADER_BYTES,
  readUint16,
  skipName,
  TYPE,
  writeUint16,
} from '../../dns/wire.ts';

/** Type and class behind the question's name. */
const BEHIND_NAME_BYTES = 4;

/**
 * The reply that a kept answer came from, as far as the filter is concerned: names and addresses
 * are whole, parameters of SVCB and HTTPS are left out.
 *
 * @param query  the message that it answers
 */
export function writeCachedReply(query: Uint8Array, item: CachedItem): Uint8Array {
  const questionEnd = skipName(query, HEADER_BYTES, query.length) + BEHIND_NAME_BYTES;
  const records = item.records.map(writeKeptRecord).filter((record) => record !== null);
  const reply = Buffer.concat([query.subarray(0, questionEnd), ...records]);
  reply[2] = FLAG.response | FLAG.recursionDesired;
  reply[3] = FLAG.recursionAvailable | item.rcode;
  reply.fill(0, 6, HEADER_BYTES);
  writeUint16(reply, 6, records.length);
  return reply;
}

/** Null for data in a form that this does not read. */
function writeKeptRecord({ owner, type, ttl, data }: CachedRecord): Uint8Array | null {
  const rdata = writeData(type, data);
  const name = wireName(owner);
  if (rdata === null || name === null) return null;
  const fixed = Buffer.alloc(10);
  fixed.writeUInt16BE(type, 0);
  fixed.writeUInt16BE(CLASS.internet, 2);
  fixed.writeUInt32BE(ttl, 4);
  fixed.writeUInt16BE(rdata.length, 8);
  return Buffer.concat([name, fixed, rdata]);
}

function writeData(type: number, data: string): Uint8Array | null {
  const generic = /^\\# \d+ ?([0-9a-f]*)$/.exec(data);
  if (generic) return Buffer.from(generic[1] ?? '', 'hex');
  if (type === TYPE.cname) return wireName(data);
  if (type === TYPE.svcb || type === TYPE.https) {
    const [priority = '', target = ''] = data.split(' ');
    const name = wireName(target);
    return name && Buffer.concat([Buffer.from([Number(priority) >> 8, Number(priority)]), name]);
  }
  if (type === TYPE.a) return Buffer.from(data.split('.').map(Number));
  return type === TYPE.aaaa ? readGroups(data) : null;
}

/** An IPv6 address as cache-view.ts writes it: groups, one "::" at most. */
function readGroups(text: string): Uint8Array {
  const [head = '', tail] = text.split('::');
  const front = head === '' ? [] : head.split(':');
  const back = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = new Array<string>(8 - front.length - back.length).fill('0');
  const bytes = Buffer.alloc(16);
  for (const [index, group] of [...front, ...zeros, ...back].entries()) {
    bytes.writeUInt16BE(Number.parseInt(group, 16), 2 * index);
  }
  return bytes;
}

function wireName(text: string): Uint8Array | null {
  const wire = new Uint8Array(LIMITS.nameBytesMax);
  const length = writeName(text, wire, 0);
  return length < 0 ? null : wire.slice(0, length + 1);
}

/** The answer section of a message that this program wrote. */
export function readAnswerSection(message: Uint8Array): CachedRecord[] {
  const nameEnd = skipName(message, HEADER_BYTES, message.length) - 1;
  const bodyAt = nameEnd + 1 + BEHIND_NAME_BYTES;
  if (nameEnd < HEADER_BYTES || bodyAt > message.length) return [];
  const answer = new Answer();
  answer.bytes = message;
  answer.bodyAt = bodyAt;
  answer.bodyLength = message.length - bodyAt;
  answer.answerCount = readUint16(message, 6);
  const question = message.slice(HEADER_BYTES, nameEnd).map(lowerCase);
  return readRecords(answer, question, 0, question.length);
}
