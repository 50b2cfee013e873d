/**
 * RFC 9715, no fragmented UDP answers: at most 1,232 bytes go out over UDP whatever the client offers (§3.1); we
 * offer 1,232 to clients and upstreams (§3.2); what is larger is truncated and asked for over TCP.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, header, questionLength, readOpt } from '../support/dns-wire.ts';
import { byTransport } from '../support/fake-upstream.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('an offer of 4,096 is met with 1,232 at most', async (t) => {
  const many = Array.from({ length: 100 }, (_, index) => a(60, 192, 0, 2, index));
  const gateway = await Gateway.open(
    t,
    byTransport(replying({ tc: true }), replying({ answers: many })),
  );
  const answer = await gateway.ask('big.example', 'A', { edns: { size: 4_096 } });
  assert.ok(answer.length <= 1_232);
  assert.deepEqual([header(answer).tc, readOpt(answer)?.size], [true, 1_232]);
  const [query] = gateway.upstream.queries;
  const sizeAt = 12 + questionLength(query?.bytes ?? answer) + 3;
  assert.equal(query?.bytes.readUInt16BE(sizeAt), 1_232, 'offered upstream');
  assert.equal(header(await gateway.askTcp('big.example')).counts[1], 100);
});
