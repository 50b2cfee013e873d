/**
 * 100,000 mutated packets: as queries of clients and as replies of upstreams, replies that pass the
 * check included. No exception, no answer above its size class, counters that add up, flat memory.
 *
 * SLUICE_FUZZ_PACKETS sets the number, SLUICE_FUZZ_SECONDS the longest time a test may take (30),
 * SLUICE_FUZZ_SEED repeats a run.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkReply, REPLY_OK } from '../../main/dns/reply-check.ts';
import {
  a,
  header,
  POINTER,
  question,
  questionLength,
  replyTo,
  soa,
  u16,
  wireName,
  type RecordOptions,
} from '../support/dns-wire.ts';
import { EngineHarness, FakeClient, policy, table } from '../support/engine-fakes.ts';
import { FLAWED_PACKETS, ODD_BUT_GOOD } from '../packets/flawed.ts';

const PACKETS = Number(process.env['SLUICE_FUZZ_PACKETS'] ?? 100_000);
const SECONDS = Number(process.env['SLUICE_FUZZ_SECONDS'] ?? 30);
const SEED = Number(process.env['SLUICE_FUZZ_SEED'] ?? Math.trunc(Math.random() * 2 ** 31));

/** Repeatable numbers (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed | 0;
  }

  below(bound: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  }

  of<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }
}

const TELLING = [0, 1, 12, 28, 41, 63, 64, 65, 0x80, 0xc0, 0xff];

/** Up to five bytes set, put in, taken out, or the end cut off; one in four stays as it is. */
function mutate(packet: Uint8Array, dice: Dice): Uint8Array {
  let bytes = packet;
  for (let left = dice.below(4) === 0 ? 0 : 1 + dice.below(5); left > 0; left--) {
    const at = dice.below(bytes.length + 1);
    const value = dice.below(2) === 0 ? dice.of(TELLING) : dice.below(256);
    const kind = dice.below(8);
    if (kind === 0) bytes = bytes.slice(0, at);
    else if (kind === 1)
      bytes = Uint8Array.from([...bytes.subarray(0, at), value, ...bytes.subarray(at)]);
    else if (kind === 2)
      bytes = Uint8Array.from([...bytes.subarray(0, at), ...bytes.subarray(at + 1)]);
    else {
      bytes = bytes.slice();
      if (at < bytes.length) bytes[at] = value;
    }
  }
  return bytes;
}

const NAMES = [
  'www.site.example',
  'ads.example',
  'a.b.c.ads.example',
  'localhost',
  'x.plex.direct',
  '.',
  'no.example',
  'x.no.example',
];
const TYPES = ['A', 'AAAA', 'HTTPS', 'CNAME', 'TXT', 'ANY', 'AXFR', 'TYPE0', 'TYPE65280'];

function someQuery(dice: Dice): Uint8Array {
  if (dice.below(10) === 0) return dice.of([...FLAWED_PACKETS, ...ODD_BUT_GOOD]).bytes;
  const options =
    dice.below(2) === 0 ? {} : { edns: { size: dice.below(5_000), dnssecOk: dice.below(2) === 0 } };
  return question(dice.of(NAMES), dice.of(TYPES), { ...options, cd: dice.below(8) === 0 });
}

const hint = [...u16(4), ...u16(4), 10, 0, 0, 1];
const RECORDS: readonly RecordOptions[] = [
  a(60),
  a(60, 192, 168, 1, 1),
  { type: 'AAAA', ttl: 9, data: [0xfd, ...Array<number>(15).fill(1)] },
  { type: 'CNAME', ttl: 60, data: wireName('t.ads.example') },
  { type: 'CNAME', ttl: 60, data: [1, 0x63, ...POINTER] },
  { type: 'CNAME', ttl: 60, data: [...POINTER] },
  { name: 't.ads.example', type: 'CNAME', ttl: 60, data: wireName('u.example') },
  { name: 'u.example', type: 'A', ttl: 60, data: [10, 0, 0, 1] },
  { name: 'bank.example', type: 'A', ttl: 60, data: [192, 0, 2, 66] },
  { type: 'HTTPS', ttl: 60, data: [0, 1, ...wireName('svc.example'), ...hint] },
  { name: 'example', type: 'TYPE39', ttl: 60, data: wireName('new.example') },
  { type: 'MX', ttl: 60, data: [0, 5, 2, 0x6d, 0x78, ...POINTER] },
  { type: 'TYPE65280', ttl: 0xffff_ffff, data: [1, 2, 3] },
  soa(30, 30),
];

function someReply(query: Uint8Array, dice: Dice): Uint8Array {
  const some = (most: number): RecordOptions[] =>
    Array.from({ length: dice.below(most + 1) }, () => dice.of(RECORDS));
  return replyTo(query, {
    answers: some(dice.below(20) === 0 ? 80 : 6),
    authorities: dice.below(2) === 0 ? [soa(30, 30)] : some(2),
    additionals: some(2),
    rcode: dice.of([0, 0, 0, 3, 2, 5]),
    ad: dice.below(2) === 0,
    tc: dice.below(20) === 0,
    ...(dice.below(2) === 0 ? { edns: {} } : {}),
  });
}

/** What holds of every answer over UDP. */
function checkAnswer(answer: Uint8Array, query: Uint8Array): void {
  assert.ok(answer.length <= 1_232);
  const seen = header(answer);
  assert.ok(seen.qr && seen.ra && !seen.z);
  if (seen.counts[0] !== 1 || seen.opcode !== 0) return;
  const length = 12 + questionLength(answer);
  assert.deepEqual(answer.subarray(12, length), query.subarray(12, length));
  assert.equal(checkReply(answer, answer.length, answer, answer.length), REPLY_OK);
}

function play(harness: EngineHarness, dice: Dice): void {
  const query = mutate(someQuery(dice), dice);
  const client = new FakeClient();
  const answer = harness.send(query, client);
  if (answer !== null && answer !== 'later') checkAnswer(answer, query);
  while (harness.exchange.asked.length > 0) {
    const asked = harness.exchange.take();
    const reply = mutate(someReply(asked.query, dice), dice);
    const verdict = checkReply(reply, reply.length, asked.query, asked.query.length);
    // One in eight goes in unchecked: the engine has to stand that as well.
    const isGiven = verdict === REPLY_OK || dice.below(8) === 0;
    asked.done({ reply: isGiven ? reply : null, failure: isGiven ? null : 'timeout', upstream: 0 });
    if (!isGiven || verdict === REPLY_OK) for (const late of client.late) checkAnswer(late, query);
    client.late.length = 0;
    if (isGiven && verdict !== REPLY_OK) harness.engine.flushCache();
  }
}

test(`${String(PACKETS)} mutated packets, as queries and as replies`, (t) => {
  t.diagnostic(`SLUICE_FUZZ_SEED=${String(SEED)}`);
  const dice = new Dice(SEED);
  const options = {
    lists: table(['ads.example']),
    cache: { entriesMax: 200 },
    logMode: 'off' as const,
  };
  const harness = new EngineHarness(options, 64 * 1024);
  const untilMs = performance.now() + SECONDS * 1_000;
  let played = 0;
  let heapBefore = 0;
  for (; played < PACKETS && performance.now() < untilMs; played++) {
    play(harness, dice);
    if (played % 1_000 === 999) {
      harness.clock.pass(7);
      harness.alarm.ring();
      harness.engine.setPolicy(policy({ ...options, version: played }));
    }
    if (played === 5_000) heapBefore = process.memoryUsage().arrayBuffers;
  }
  t.diagnostic(`${String(played)} packets`);
  assert.ok(played >= Math.min(PACKETS, 20_000), 'the time was enough for a fair number');
  const count = (name: Parameters<typeof harness.counter>[0]): number => harness.counter(name);
  assert.equal(count('received'), played);
  assert.equal(count('answered') + count('ignored'), played, 'each is answered or ignored');
  assert.equal(count('pending'), 0);
  for (const name of [
    'blocked',
    'cached',
    'forwarded',
    'rejected',
    'answersCut',
    'answersWrong',
  ] as const) {
    assert.ok(count(name) > 0, name);
  }
  if (heapBefore > 0) {
    const grown = process.memoryUsage().arrayBuffers - heapBefore;
    assert.ok(grown < 32 * 1024 * 1024, `${String(grown)} bytes of buffers more`);
  }
});
