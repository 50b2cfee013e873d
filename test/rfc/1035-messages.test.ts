/**
 * RFC 1035, domain names: a response repeats ID, opcode, RD and the question; QR and RA are set (§4.1.1);
 * names have at most 255 bytes and labels at most 63 (§2.3.4); UDP messages without EDNS have at most
 * 512 bytes, longer ones are cut and have TC set (§4.2.1); what does not parse is a format error.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { a, header, question, questionLength, u16, wireName } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('ID, RD and question come back, QR and RA are set, Z is clear', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  for (const rd of [true, false]) {
    const query = question('WwW.Example', 'A', { id: 0xbeef, rd });
    query[3] = 0x40;
    const answer = await gateway.send(query);
    const { id, qr, ra, z, opcode, aa } = header(answer);
    assert.deepEqual([id, qr, ra, z, opcode, aa], [0xbeef, true, true, false, 0, false]);
    assert.equal(header(answer).rd, rd);
    assert.deepEqual([...answer.subarray(12, 27)], [...query.subarray(12, 27)]);
  }
  assert.equal(gateway.upstream.queries.length, 1);
});

test('names of 255 bytes and labels of 63 pass, longer ones are format errors', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  const label = 'x'.repeat(63);
  const longest = [label, label, label, 'y'.repeat(61)].join('.');
  assert.equal(header(await gateway.ask(longest)).rcode, 0);
  assert.equal(header(await gateway.ask(`${longest}z`)).rcode, 1);
  const tooLong = Uint8Array.from([
    ...question('a', 'A').subarray(0, 12),
    64,
    ...Buffer.alloc(64),
    0,
    0,
    1,
    0,
    1,
  ]);
  assert.equal(header(await gateway.send(tooLong)).rcode, 1);
});

test('an answer above 512 bytes is cut for a client without EDNS, and whole over TCP', async (t) => {
  const many = Array.from({ length: 40 }, (_, index) => a(60, 192, 0, 2, index));
  const gateway = await Gateway.open(t, replying({ answers: many }));
  const cut = await gateway.ask('big.example');
  assert.ok(cut.length <= 512);
  assert.deepEqual([header(cut).tc, header(cut).counts], [true, [1, 0, 0, 0]]);
  const whole = await gateway.askTcp('big.example');
  assert.deepEqual([header(whole).tc, header(whole).counts[1]], [false, 40]);
});

test('two questions, or none, are a format error; a response gets no answer', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  const two = question('a.example', 'A');
  two[5] = 2;
  assert.equal(
    header(await gateway.send(Uint8Array.from([...two, ...wireName('b'), ...u16(1), ...u16(1)])))
      .rcode,
    1,
  );
  const none = question('a.example', 'A').slice(0, 12);
  none[5] = 0;
  const answer = await gateway.send(none);
  assert.deepEqual([header(answer).rcode, header(answer).counts[0], answer.length], [1, 0, 12]);
  const response = question('a.example', 'A');
  response[2] = 0x81;
  await gateway.expectSilence(response);
});

test('other opcodes are not implemented, whatever follows', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  for (const opcode of [1, 2, 4, 5, 6, 15]) {
    const answer = await gateway.ask('a.example', 'A', { opcode });
    assert.deepEqual([header(answer).rcode, header(answer).opcode], [4, opcode]);
  }
  assert.equal(gateway.upstream.queries.length, 0);
});

test('unknown types and classes pass byte for byte', async (t) => {
  const data = [1, 2, 3, 0xc0, 0x0c, 255];
  const gateway = await Gateway.open(
    t,
    replying({ answers: [{ type: 'TYPE65280', ttl: 60, data, recordClass: 7 }] }),
  );
  const answer = await gateway.ask('a.example', 'TYPE65280', { qclass: 7 });
  const body = answer.subarray(12 + questionLength(answer));
  assert.deepEqual([...body.subarray(-data.length)], data);
});
