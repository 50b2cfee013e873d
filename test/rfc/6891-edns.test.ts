/**
 * RFC 6891, EDNS(0): OPT in the response exactly when in the query (§6.1.1); one OPT at most (§6.1.1); a
 * version above 0 gets BADVERS (§6.1.3); unknown options and flags are ignored (§6.1.2, §6.1.4); sizes
 * below 512 count as 512 (§6.2.3); the response keeps to the client's size (§6.2.5).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { a, header, optRecord, question, readOpt, replyTo, soa } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

const many = Array.from({ length: 60 }, (_, index) => a(60, 192, 0, 2, index));

describe('OPT', () => {
  test('is in the answer exactly when it is in the query, cached or not', async (t) => {
    const gateway = await Gateway.open(t, replying({ answers: [a(60)], edns: {} }));
    for (const hasEdns of [true, false, true, false]) {
      const answer = await gateway.ask('www.example', 'A', hasEdns ? { edns: {} } : {});
      assert.equal(readOpt(answer) !== null, hasEdns);
      assert.equal(header(answer).counts[3], hasEdns ? 1 : 0);
    }
  });

  test('of opcodes that are not implemented, too', async (t) => {
    const gateway = await Gateway.open(t, replying({}));
    for (const opcode of [1, 2, 4, 5, 6, 15]) {
      const options = { opcode, edns: { dnssecOk: true } };
      const answer = await gateway.ask('www.example', 'SOA', options);
      assert.deepEqual([header(answer).rcode, header(answer).opcode], [4, opcode]);
      assert.equal(readOpt(answer)?.dnssecOk, true);
      const plain = await gateway.ask('www.example', 'SOA', { opcode });
      assert.equal(readOpt(plain), null);
    }
  });

  test('of a NOTIFY with a record, and of a query without a question, too', async (t) => {
    const gateway = await Gateway.open(t, replying({}));
    const notify = replyTo(question('www.example', 'SOA', { opcode: 4 }), {
      ...{ answers: [soa(60, 60)], edns: {} },
    });
    notify[2] = 0x24;
    notify[3] = 0;
    const refused = await gateway.send(notify);
    assert.deepEqual([header(refused).rcode, header(refused).opcode], [4, 4]);
    assert.equal(readOpt(refused)?.size, 1_232);
    const bare = Uint8Array.from([0x12, 0x34, 1, 0, 0, 0, 0, 0, 0, 0, 0, 1, ...optRecord({})]);
    const flawed = await gateway.send(bare);
    assert.deepEqual([header(flawed).rcode, ...header(flawed).counts], [1, 0, 0, 0, 1]);
    assert.equal(readOpt(flawed)?.size, 1_232);
  });

  test('two of them, or one whose options are cut, are a format error', async (t) => {
    const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
    const two = Uint8Array.from([...question('a.example', 'A', { edns: {} }), ...optRecord({})]);
    two[11] = 2;
    assert.equal(header(await gateway.send(two)).rcode, 1);
    const cut = await gateway.ask('a.example', 'A', { edns: { options: [0, 10, 0, 9, 1] } });
    assert.equal(header(cut).rcode, 1);
  });

  test('a higher version gets BADVERS with version 0 and our size, and nothing more', async (t) => {
    const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
    const answer = await gateway.ask('a.example', 'A', { edns: { version: 1 } });
    const opt = readOpt(answer);
    assert.deepEqual([header(answer).rcode, opt?.extendedRcode, opt?.version], [0, 1, 0]);
    assert.equal(header(answer).counts[1], 0);
    assert.equal(gateway.upstream.queries.length, 0);
  });

  test('unknown options are neither echoed nor sent on', async (t) => {
    const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
    const options = [0xfd, 0xe9, 0, 3, 1, 2, 3];
    const answer = await gateway.ask('a.example', 'A', { edns: { options } });
    assert.deepEqual([header(answer).rcode, readOpt(answer)?.ede], [0, null]);
    assert.equal(gateway.upstream.queries[0]?.bytes.includes(Buffer.from(options)), false);
  });
});

describe('sizes', () => {
  for (const [size, max] of [
    [0, 512],
    [511, 512],
    [600, 600],
    [1_232, 1_232],
    [65_535, 1_232],
  ] as const) {
    test(`a client of ${String(size)} bytes gets at most ${String(max)}`, async (t) => {
      const answers = many.slice(0, Math.floor((max - 12 - 15 - 11) / 16));
      const gateway = await Gateway.open(t, (query, upstream) => {
        const all = query.name.toLowerCase().startsWith('fit') ? answers : many;
        return replying({ answers: all })(query, upstream);
      });
      const fit = await gateway.ask('fit.example', 'A', { edns: { size } });
      assert.deepEqual(
        [header(fit).tc, header(fit).counts[1]],
        [false, answers.length - (fit.length > max ? 1 : 0)],
      );
      const big = await gateway.ask('big.example', 'A', { edns: { size } });
      if (max < 1_000) assert.equal(header(big).tc, true);
      assert.ok(fit.length <= max && big.length <= max);
    });
  }
});
