/** What a rule about an address in an answer says in place of it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '../lists/list-fixtures.ts';
import { header, records, replyTo } from '../support/dns-wire.ts';
import { EngineHarness } from '../support/engine-fakes.ts';

const zone = `$TTL 60
32.7.2.0.192.rpz-ip CNAME *.
32.8.2.0.192.rpz-ip CNAME .
32.9.2.0.192.rpz-ip A 203.0.113.5
32.10.2.0.192.rpz-ip CNAME rpz-tcp-only.
`;

function answered(last: number): { rcode: number; answers: string[]; outcome: string } {
  const { rules: lists } = parse(zone, 'rpz');
  const harness = new EngineHarness({ lists, blockingAnswer: 'nxdomain' });
  const reply = (query: Uint8Array) =>
    replyTo(query, { answers: [{ type: 'A', ttl: 300, data: [192, 0, 2, last] }] });
  const answer = harness.resolve('site.example', 'A', reply);
  assert.deepEqual(harness.ask('site.example', 'A').slice(3), answer.slice(3), 'from the cache');
  const { outcome } = harness.sink.last;
  return { rcode: header(answer).rcode, answers: records(answer, 'answers'), outcome };
}

test('a trigger has an answer of its own, whatever a block is answered with', () => {
  assert.deepEqual(answered(7), { rcode: 0, answers: [], outcome: 'blocked' });
  assert.deepEqual(answered(8), { rcode: 3, answers: [], outcome: 'blocked' });
  const { rcode, answers, outcome } = answered(9);
  assert.deepEqual([rcode, answers], [0, ['site.example A 60 203.0.113.5']]);
  assert.equal(outcome, 'local');
  assert.deepEqual(answered(10).answers, []);
  assert.deepEqual(answered(11).answers, ['site.example A 300 192.0.2.11']);
});
