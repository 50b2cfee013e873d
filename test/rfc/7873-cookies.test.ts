/**
 * RFC 7873, cookies, on the client's side: a server without cookies takes the option for an unknown one (§5.2):
 * it is ignored whatever its length, not echoed, and does not go upstream (§5.1: it would tell clients apart).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, header, readOpt } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

for (const size of [8, 16, 40, 0, 7, 41]) {
  test(`a cookie of ${String(size)} bytes is ignored and stays here`, async (t) => {
    const gateway = await Gateway.open(t, replying({ answers: [a(60)], edns: {} }));
    const cookie = Array.from({ length: size }, (_, index) => 0xa0 + index);
    const options = [0, 10, 0, size, ...cookie];
    const answer = await gateway.ask('www.example', 'A', { edns: { options } });
    assert.deepEqual([header(answer).rcode, header(answer).counts[1]], [0, 1]);
    assert.equal(readOpt(answer)?.ede, null);
    assert.equal(answer.readUInt16BE(answer.length - 2), 0, 'no option in the answer');
    const [query] = gateway.upstream.queries;
    if (size >= 7) assert.equal(query?.bytes.includes(Buffer.from(cookie)), false);
  });
}
