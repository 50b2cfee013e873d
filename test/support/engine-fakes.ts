/**
 * The engine's surroundings, made of plain objects that tests hold in their hands: clock, random
 * numbers, upstreams, log sink, client; and a harness that wires an Engine to them.
 */
import { COUNTER, COUNTER_BLOCK_SLOTS, type CounterName } from '../../main/contract/counters.ts';
import { OUTCOMES, REASONS } from '../../main/contract/outcome.ts';
import { FLAG_ALLOW, FLAG_BLOCK } from '../../main/engine/filter/domain-table.ts';
import { Engine } from '../../main/engine/engine.ts';
import { hashName, readName, writeName } from '../../main/dns/name.ts';
import type { EngineConfig } from '../../main/engine/filter/engine-config.ts';
import type {
  Alarm,
  Client,
  Clock,
  Exchange,
  ExchangeResult,
  LogFacts,
  QuerySink,
  Random,
  ReplyTo,
} from '../../main/engine/query/ports.ts';
import { RuleSet } from '../../main/engine/filter/rule-set.ts';
import { TableBuilder } from '../../main/lists/compile/table-builder.ts';
import { question, type QuestionOptions } from './dns-wire.ts';

/** Time that moves only when told to. */
export class FakeClock implements Clock {
  us = 5_000_000;
  ms = 1_700_000_000_000;

  nowUs(): number {
    return this.us;
  }

  wallMs(): number {
    return this.ms;
  }

  /** Moves both clocks on. */
  pass(seconds: number): void {
    this.us += seconds * 1e6;
    this.ms += seconds * 1e3;
  }
}

/** Numbers 0, 1, 2 ... */
export class FakeRandom implements Random {
  next = 0;

  uint16(): number {
    return this.next++ & 0xffff;
  }

  uint32(): number {
    return this.next++ >>> 0;
  }
}

/** Alarms that ring when the test says so. */
export class FakeAlarm implements Alarm {
  readonly set: { ms: number; run: () => void }[] = [];

  after(ms: number, run: () => void): void {
    this.set.push({ ms, run });
  }

  /** Lets all that are set ring. */
  ring(): void {
    for (const { run } of this.set.splice(0)) run();
  }
}

/** One question that the engine sent upstream. */
export interface Asked {
  readonly query: Uint8Array;
  done(result: ExchangeResult): void;
}

/** Upstreams that answer when the test does. */
export class FakeExchange implements Exchange {
  readonly asked: Asked[] = [];
  /** Questions sent so far, answered ones included. */
  count = 0;

  exchange(query: Uint8Array, length: number, done: (result: ExchangeResult) => void): void {
    this.count++;
    this.asked.push({ query: query.slice(0, length), done });
  }

  /** Takes the oldest unanswered question. */
  take(): Asked {
    const asked = this.asked.shift();
    if (asked === undefined) throw new Error('nothing was asked upstream');
    return asked;
  }

  /** Answers the oldest unanswered question with the reply that `make` builds from it. */
  answer(make: (query: Uint8Array) => Uint8Array, upstream = 0): void {
    const asked = this.take();
    asked.done({ reply: make(asked.query), failure: null, upstream });
  }

  /** Ends it without a reply. @returns it, for an answer that comes late */
  fail(failure: ExchangeResult['failure'] = 'timeout', upstream = 0): Asked {
    const asked = this.take();
    asked.done({ reply: null, failure, upstream });
    return asked;
  }
}

/** A log record as tests read it. */
export interface Logged extends Omit<
  LogFacts,
  'name' | 'address' | 'outcome' | 'reason' | 'matched'
> {
  readonly name: string;
  /** The name further on that was blocked; '.' for none. */
  readonly matched: string;
  readonly address: string;
  readonly outcome: string;
  readonly reason: string;
}

/** Keeps a copy of each record. */
export class FakeSink implements QuerySink {
  readonly records: Logged[] = [];
  isFull = false;

  push(facts: LogFacts): boolean {
    if (this.isFull) return false;
    this.records.push({
      ...facts,
      name: readName(facts.name, 0, facts.nameLength),
      matched: readName(facts.matched, 0, facts.matchedLength),
      address: Buffer.from(facts.address).toString('hex'),
      outcome: OUTCOMES[facts.outcome],
      reason: REASONS[facts.reason],
    });
    return true;
  }

  get last(): Logged {
    const record = this.records.at(-1);
    if (record === undefined) throw new Error('nothing was logged');
    return record;
  }
}

/** A client that keeps the late answers it gets. */
export class FakeClient implements Client {
  readonly address = new Uint8Array(16);
  port = 4_000;
  transport: 'udp' | 'tcp' = 'udp';
  readonly late: Uint8Array[] = [];

  constructor(...v4: number[]) {
    this.address[10] = this.address[11] = 0xff;
    this.address.set(v4.length === 4 ? v4 : [192, 0, 2, 77], 12);
  }

  hold(): ReplyTo {
    return {
      send: (bytes, start, length) => void this.late.push(bytes.slice(start, start + length)),
    };
  }
}

/** What a name table holds: "name" or "name@listId" for a listing that is not of list 1. */
export function table(block: readonly string[], allow: readonly string[] = []): RuleSet {
  const builder = new TableBuilder();
  const scratch = new Uint8Array(255);
  let line = 0;
  const add = (entry: string, flags: number): void => {
    const [name = '', list = '1'] = entry.split('@');
    const length = writeName(name, scratch, 0);
    builder.add(scratch, length, hashName(scratch, 0, length), Number(list), flags, ++line);
  };
  for (const entry of block) add(entry, FLAG_BLOCK);
  for (const entry of allow) add(entry, FLAG_ALLOW);
  return new RuleSet(builder.finish(), null);
}

export type PolicyOptions = Partial<Omit<EngineConfig, 'cache' | 'rebinding'>> & {
  cache?: Partial<EngineConfig['cache']>;
  rebinding?: Partial<EngineConfig['rebinding']>;
};

export function policy(options: PolicyOptions = {}): EngineConfig {
  const { cache, rebinding, ...rest } = options;
  return {
    version: 1,
    filtering: true,
    blockingAnswer: 'null-address',
    blockingTtlSeconds: 10,
    rules: RuleSet.empty(),
    lists: RuleSet.empty(),
    logMode: 'full',
    access: { allow: [], exempt: [], queriesPerSecond: 0 },
    ...rest,
    cache: {
      entriesMax: 1_000,
      ttlMinSeconds: 0,
      ttlMaxSeconds: 86_400,
      staleSecondsMax: 3_600,
      staleOff: [],
      prefetch: true,
      persist: false,
      ...cache,
    },
    rebinding: { enabled: true, sharedSpace: false, allow: [], ...rebinding },
  };
}

/** An engine with fakes round it. */
export class EngineHarness {
  readonly clock = new FakeClock();
  readonly exchange = new FakeExchange();
  readonly sink = new FakeSink();
  readonly alarm = new FakeAlarm();
  readonly slots = new Float64Array(COUNTER_BLOCK_SLOTS);
  readonly engine: Engine;
  readonly client = new FakeClient();
  /** The answer buffer of a UDP listener: 4,096 bytes from an odd offset, then bytes to watch. */
  readonly out = new Uint8Array(65_535 + 16).fill(0xaa);

  constructor(options: PolicyOptions = {}, cacheBytesMax?: number) {
    this.engine = new Engine({
      clock: this.clock,
      random: new FakeRandom(),
      exchange: this.exchange,
      sink: this.sink,
      alarm: this.alarm,
      counters: { slots: this.slots },
      ...(cacheBytesMax === undefined ? {} : { cacheBytesMax }),
    });
    this.engine.setPolicy(policy(options));
  }

  /** Hands a packet in. Returns the answer, 'later', or null for silence. */
  send(packet: Uint8Array, client: FakeClient = this.client): Uint8Array | 'later' | null {
    const framed = new Uint8Array(packet.length + 5).fill(0xbb);
    framed.set(packet, 3);
    const written = this.engine.handle(framed, 3, packet.length, client, this.out, 7);
    if (written < 0) return 'later';
    return written === 0 ? null : this.out.slice(7, 7 + written);
  }

  /** Asks a question that is answered at once. */
  ask(name: string, type = 'A', options: QuestionOptions = {}): Uint8Array {
    const answer = this.send(question(name, type, options));
    if (answer === null || answer === 'later')
      throw new Error(`no answer at once: ${String(answer)}`);
    return answer;
  }

  /** Asks a question that goes upstream, answers it there, and returns what the client gets. */
  resolve(
    name: string,
    type: string,
    make: (query: Uint8Array) => Uint8Array,
    options: QuestionOptions = {},
  ): Uint8Array {
    if (this.send(question(name, type, options)) !== 'later') throw new Error('answered at once');
    this.exchange.answer(make);
    const answer = this.client.late.pop();
    if (answer === undefined) throw new Error('no late answer');
    return answer;
  }

  counter(name: CounterName): number {
    return this.slots[COUNTER[name]] as number;
  }
}
