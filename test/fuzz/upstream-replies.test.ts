/**
 * Mutated replies from upstreams: whatever comes back, a question ends with a reply that
 * verifies or with none, and the pool goes on.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { checkReply, REPLY_OK } from '../../main/dns/reply-check.ts';
import { certificates } from '../support/certificates.ts';
import { addressOfName, FakeUpstream, answerByName, replyTo } from '../support/fake-upstream.ts';
import type { FakeQuery } from '../support/fake-upstream.ts';
import { FakeSecureUpstream } from '../support/fake-secure-upstream.ts';
import { question } from '../support/dns-client.ts';
import { openPool } from '../support/net-fakes.ts';

/** Bytes to put at places (as parts of the length), and where to cut; -1 for nowhere. */
type Mutation = { readonly changes: readonly [number, number][]; readonly cut: number };

const mutation: fc.Arbitrary<Mutation> = fc.record({
  changes: fc.array(fc.tuple(fc.double({ min: 0, max: 1, noNaN: true }), fc.nat(255)), {
    maxLength: 4,
  }),
  cut: fc.oneof(fc.constant(-1), fc.double({ min: 0, max: 1, noNaN: true })),
});

function mutate(reply: Buffer, { changes, cut }: Mutation): Buffer {
  const bytes = Buffer.from(reply);
  for (const [place, value] of changes) {
    bytes[Math.min(Math.floor(place * bytes.length), bytes.length - 1)] = value;
  }
  return cut < 0 ? bytes : bytes.subarray(0, Math.floor(cut * bytes.length));
}

/** Over TLS a reply that is ignored is silence, which costs a hedge delay; over HTTPS it is not. */
for (const [protocol, runs] of [
  ['tls', 100],
  ['https', 300],
] as const) {
  test(`${protocol}: ${String(runs)} mutated replies harm nobody`, async (t) => {
    const all = await certificates();
    let current: Mutation = { changes: [], cut: -1 };
    const good = (query: FakeQuery): Buffer => {
      const data = addressOfName(query.name);
      return replyTo(query, { answers: [{ name: query.name, type: 'A', ttl: 300, data }] });
    };
    const server = await FakeSecureUpstream.open(t, protocol, all.good, (query) => [
      { bytes: mutate(good(query), current) },
    ]);
    const backup = await FakeUpstream.open(t, answerByName);
    const open = () =>
      openPool(t, [server.text(), backup.endpoint], { authorities: [all.authority] }).pool;
    let pool = open();
    const query = question('mutated.example', 'A', { ednsBytes: 1_232 });
    await fc.assert(
      fc.asyncProperty(mutation, async (next) => {
        current = next;
        // A server that broke a question before would not be asked this one.
        if (!['up', 'untried'].includes(pool.states[0]?.state ?? '')) {
          assert.equal(pool.unfinished, 0);
          pool.close();
          pool = open();
        }
        const reply = await new Promise<Buffer | null>((resolve) => {
          pool.exchange(query, query.length, (result) => {
            resolve(result.reply === null ? null : Buffer.from(result.reply));
          });
        });
        // The backup answers what the other does not.
        assert.notEqual(reply, null);
        assert.equal(
          checkReply(reply as Buffer, reply?.length ?? 0, query, query.length),
          REPLY_OK,
        );
      }),
      { numRuns: runs },
    );
    assert.equal(pool.unfinished, 0);
    // On a busy machine a few handshakes take longer than the hedge delay.
    assert.ok(server.queries.length >= runs * 0.8, `${String(server.queries.length)} were mutated`);
  });
}

test('udp: 80 mutated replies harm nobody', async (t) => {
  let current: Mutation = { changes: [], cut: -1 };
  const server = await FakeUpstream.open(t, (query) => {
    const data = addressOfName(query.name);
    const answers = [{ name: query.name, type: 'A' as const, ttl: 300, data }];
    return [{ bytes: mutate(replyTo(query, { answers }), current) }];
  });
  const backup = await FakeUpstream.open(t, answerByName);
  await fc.assert(
    fc.asyncProperty(mutation, async (next) => {
      current = next;
      const { pool } = openPool(t, [server, backup]);
      const query = question('mutated.example', 'A', { ednsBytes: 1_232 });
      const reply = await new Promise<Buffer | null>((resolve) => {
        pool.exchange(query, query.length, (result) => {
          resolve(result.reply === null ? null : Buffer.from(result.reply));
        });
      });
      assert.notEqual(reply, null);
      assert.equal(checkReply(reply as Buffer, reply?.length ?? 0, query, query.length), REPLY_OK);
      assert.equal(pool.unfinished, 0);
      assert.equal(pool.states[0]?.askedWithout, '', 'one reply switches nothing off');
      pool.close();
    }),
    { numRuns: 80 },
  );
});
