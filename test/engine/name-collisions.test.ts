/**
 * Names whose 32-bit hashes are equal, as anybody can make them: they are never taken for one
 * another where a record is kept, and they cannot crowd a name out of the cache.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  AnswerInspector,
  LOOK_MARKED,
  LOOK_WRONG,
} from '../../main/engine/answer/answer-inspector.ts';
import { MARK_DROP, MARK_KEEP } from '../../main/engine/answer/answer-marks.ts';
import { ReplyReader } from '../../main/engine/answer/answer.ts';
import { AnswerCache } from '../../main/engine/cache/cache.ts';
import { HASH_SEED, hashByte, hashName, keyedHash, writeName } from '../../main/dns/name.ts';
import { Query } from '../../main/engine/query/query.ts';
import { SuffixSet } from '../../main/dns/suffix-set.ts';
import { COUNTER_BLOCK_SLOTS } from '../../main/contract/counters.ts';
import { a, question, replyTo, soa, wireName } from '../support/dns-wire.ts';
import type { RecordOptions } from '../support/dns-wire.ts';

/** Running hash over a part of a name, from its last byte to its first. */
function run(from: number, bytes: Uint8Array): number {
  let running = from;
  for (let at = bytes.length - 1; at >= 0; at--) running = hashByte(running, bytes[at] as number);
  return running;
}

/** Two labels that lead the running hash from one state to the same other. */
function collidingLabels(state: number): [string, string] {
  const seen = new Map<number, string>();
  for (let index = 0; ; index++) {
    const label = ((index * 48_271_987_651) % 36 ** 7).toString(36).padStart(7, '0');
    const hash = run(state, Uint8Array.from([label.length, ...Buffer.from(label)]));
    const other = seen.get(hash);
    if (other !== undefined) return [other, label];
    seen.set(hash, label);
  }
}

/** 2^levels names below a suffix that all have one hash. */
function collidingNames(suffix: string, levels: number): string[] {
  let names = [suffix];
  for (let level = 0; level < levels; level++) {
    const wire = wireName(names[0] as string).slice(0, -1);
    const pair = collidingLabels(run(HASH_SEED, Uint8Array.from(wire)));
    names = pair.flatMap((label) => names.map((name) => `${label}.${name}`));
  }
  return names;
}

function hashOf(name: string): number {
  const wire = new Uint8Array(255);
  return hashName(wire, 0, writeName(name, wire, 0));
}

const none = new SuffixSet([]);
const guard = {
  ...{ enabled: false, sharedSpace: false, publicTlds: '' },
  ...{ allow: none, suffixes: none },
};
const limits = { ttlMinSeconds: 0, ttlMaxSeconds: 86_400 };
const [asked = '', twin = ''] = collidingNames('example', 1);

/** What becomes of each record of a reply to `asked`. */
function inspect(
  sections: Parameters<typeof replyTo>[1],
  type = 'A',
): { look: number; marks: number[] } {
  const packet = question(asked, type);
  const query = new Query();
  query.read(packet, 0, packet.length);
  const reader = new ReplyReader();
  assert.ok(reader.read(replyTo(packet, sections), query, limits));
  const inspector = new AnswerInspector();
  const look = inspector.inspect(reader.answer, query, guard);
  return { look, marks: [...inspector.marks.subarray(0, reader.answer.recordCount)] };
}

test('two names can be made with one hash', () => {
  assert.notEqual(asked, twin);
  assert.equal(hashOf(asked), hashOf(twin));
});

const alias = (name: string, to: string): RecordOptions => ({
  ...{ name, type: 'CNAME', ttl: 60, data: wireName(to) },
});

test('a record of the twin is no answer', () => {
  const { look, marks } = inspect({ answers: [a(60), { ...a(60, 6, 6, 6, 6), name: twin }] });
  assert.deepEqual([look, marks], [LOOK_MARKED, [MARK_KEEP, MARK_DROP]]);
});

test('an alias of the twin leads nowhere', () => {
  const evil = { ...a(60, 6, 6, 6, 6), name: 'evil.example' };
  const { marks } = inspect({ answers: [alias(twin, 'evil.example'), evil] });
  assert.deepEqual(marks, [MARK_DROP, MARK_DROP]);
});

test('an alias to the twin is no loop, and back from there is one', () => {
  const there = alias(asked, twin);
  const { look, marks } = inspect({ answers: [there, { ...a(60), name: twin }] });
  assert.notEqual(look, LOOK_WRONG);
  assert.ok(marks.every((mark) => mark === MARK_KEEP));
  assert.equal(inspect({ answers: [there, alias(twin, asked)] }).look, LOOK_WRONG);
});

test('the twin has no say as a zone, and no address beside', () => {
  const { marks } = inspect({
    authorities: [soa(60, 60, twin)],
    additionals: [{ ...a(60), name: twin }],
  });
  assert.deepEqual(marks, [MARK_DROP, MARK_DROP]);
});

test('an address of a name like the one of a kept record is left out', () => {
  const [server = '', other = ''] = collidingNames('servers', 1);
  const { marks } = inspect({
    answers: [a(60)],
    authorities: [{ name: 'example', type: 'NS', ttl: 60, data: wireName(server) }],
    additionals: [
      { ...a(60), name: server },
      { ...a(60), name: other },
    ],
  });
  assert.deepEqual(marks, [MARK_KEEP, MARK_KEEP, MARK_KEEP, MARK_DROP]);
});

test('names of one hash do not crowd a name out of the cache', () => {
  const names = collidingNames('example', 6);
  assert.equal(new Set(names.map(hashOf)).size, 1);
  const cache = new AnswerCache(1 << 20, 0x5eed, new Float64Array(COUNTER_BLOCK_SLOTS));
  cache.configure(1_000, 0);
  const query = new Query();
  const reader = new ReplyReader();
  const store = (name: string): void => {
    const packet = question(name, 'A');
    query.read(packet, 0, packet.length);
    assert.ok(reader.read(replyTo(packet, { answers: [a(60)] }), query, limits));
    cache.store(query, cache.keyHash(query), 0, reader.answer);
  };
  const hashes = new Set<number>();
  for (const name of names) {
    store(name);
    hashes.add(cache.keyHash(query));
  }
  assert.equal(hashes.size, names.length, 'all have hashes of their own');
  for (const name of names) {
    const packet = question(name, 'A');
    query.read(packet, 0, packet.length);
    assert.ok(cache.inspect(query.name, query.nameLength, 0).length === 1, name);
  }
});

test('the keyed hash depends on every byte, on the length and on the key', () => {
  const bytes = Uint8Array.from({ length: 64 }, (_, index) => index + 33);
  for (let length = 0; length <= 32; length++) {
    const seen = new Set<number>([keyedHash(bytes, 0, length, 7)]);
    seen.add(keyedHash(bytes, 0, length, 8)).add(keyedHash(bytes, 0, length + 1, 7));
    for (let at = 0; at < length; at++) {
      const changed = bytes.slice();
      changed[at] = (changed[at] as number) ^ 0x40;
      seen.add(keyedHash(changed, 0, length, 7));
    }
    assert.equal(seen.size, 3 + length, `of ${String(length)} bytes`);
  }
  assert.equal(keyedHash(bytes, 5, 40, 7), keyedHash(bytes.slice(5, 40), 0, 35, 7));
});
