/**
 * Takes one question through an engine of its own, with a policy as the data plane has it, and
 * tells what became of it: the same steps that answer packets, so that what is explained and what
 * is answered cannot differ. Called by explain.ts in the main thread.
 *
 * Nothing is sent. What the engine would ask upstream is answered by the caller, from what is kept,
 * or with no records.
 */
import { COUNTER_BLOCK_SLOTS } from '../../contract/counters.ts';
import { LIMITS } from '../../contract/limits.ts';
import { OUTCOME, REASON, type Outcome, type Reason } from '../../contract/outcome.ts';
import { Engine } from '../engine.ts';
import { readName } from '../../dns/name.ts';
import { LIST_ID_NONE, type EngineConfig } from '../filter/engine-config.ts';
import type { Client, ExchangeResult, LogFacts } from '../query/ports.ts';
import { FLAG, HEADER_BYTES, readUint16, skipName } from '../../dns/wire.ts';

/** What became of it. */
export interface Rehearsal {
  readonly outcome: Outcome;
  readonly reason: Reason;
  readonly rcode: number;
  readonly listId: number;
  readonly matchedLabels: number;
  /** With reason cname, the name further on that is blocked, in presentation form; else ''. */
  readonly matched: string;
  /** The whole message; null for silence. */
  readonly answer: Uint8Array | null;
  /** The question that goes upstream unless an answer is kept; null when none does. */
  readonly asked: AskedQuestion | null;
}

export interface AskedQuestion {
  /** Presentation form. */
  readonly name: string;
  readonly type: number;
}

/** A kept answer to a question, as a message; null when nothing is kept. */
export type Keeper = (query: Uint8Array, asked: AskedQuestion) => Uint8Array | null;

const CACHE_BYTES = 4_096;
const CLIENT_PORT = 53_053;
/** The two bytes behind the name, type and class. */
const BEHIND_NAME_BYTES = 4;

/**
 * @param packet   a query message
 * @param address  16 bytes, as in ports.ts Client
 * @param kept     asked for the answers that the engine wants from upstream
 */
export function rehearse(
  config: EngineConfig,
  packet: Uint8Array,
  address: Uint8Array,
  kept: Keeper = () => null,
): Rehearsal {
  const waiting: { query: Uint8Array; done: (result: ExchangeResult) => void }[] = [];
  let told: Omit<Rehearsal, 'answer' | 'asked'> = NOTHING;
  const engine = new Engine({
    clock: { nowUs: () => 1_000_000, wallMs: () => 0 },
    random: { uint16: () => 0, uint32: () => 0 },
    exchange: {
      exchange: (query, length, done) => void waiting.push({ query: query.slice(0, length), done }),
    },
    sink: { push: (facts) => ((told = copyFacts(facts)), true) },
    counters: { slots: new Float64Array(COUNTER_BLOCK_SLOTS) },
    cacheBytesMax: CACHE_BYTES,
  });
  engine.setPolicy({ ...config, logMode: 'full', cache: { ...config.cache, entriesMax: 0 } });
  let answer: Uint8Array | null = null;
  const client: Client = {
    ...{ address, port: CLIENT_PORT, transport: 'tcp' },
    hold: () => ({
      send: (bytes, start, length) => void (answer = bytes.slice(start, start + length)),
    }),
  };
  const out = new Uint8Array(LIMITS.messageBytesMax);
  const written = engine.handle(packet, 0, packet.length, client, out, 0);
  if (written > 0) answer = out.slice(0, written);
  let asked: AskedQuestion | null = null;
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    asked = readQuestion(next.query);
    const reply = kept(next.query, asked) ?? emptyReply(next.query);
    next.done({ reply, failure: null, upstream: 0 });
  }
  engine.close();
  return { ...told, answer, asked };
}

const NOTHING: Omit<Rehearsal, 'answer' | 'asked'> = {
  outcome: OUTCOME.rejected,
  reason: REASON.none,
  rcode: 0,
  listId: LIST_ID_NONE,
  matchedLabels: 0,
  matched: '',
};

function copyFacts(facts: LogFacts): Omit<Rehearsal, 'answer' | 'asked'> {
  const { outcome, reason, rcode, listId, matchedLabels, matched, matchedLength } = facts;
  const isFurther = reason === REASON.cname;
  return {
    ...{ outcome, reason, rcode, listId, matchedLabels },
    matched: isFurther ? readName(matched, 0, matchedLength) : '',
  };
}

function readQuestion(query: Uint8Array): AskedQuestion {
  const end = skipName(query, HEADER_BYTES, query.length);
  return { name: readName(query, HEADER_BYTES, end - 1), type: readUint16(query, end) };
}

/** NOERROR without a record: the answer of an upstream that nobody asked. */
export function emptyReply(query: Uint8Array): Uint8Array {
  const end = skipName(query, HEADER_BYTES, query.length) + BEHIND_NAME_BYTES;
  const reply = query.slice(0, end);
  reply[2] = FLAG.response | FLAG.recursionDesired;
  reply[3] = FLAG.recursionAvailable;
  reply.fill(0, 6, HEADER_BYTES);
  reply[5] = 1;
  return reply;
}
