/**
 * RFC 2181, clarifications: a TTL with the top bit set is a long one, and capped (§8 as RFC 8767 §4
 * amends it); a truncated reply is not used, the question is asked again over TCP (§9); data of names
 * that were not asked is not to be believed (§5.4.1, RFC 5452 §6); any label byte is allowed (§11).
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byTransport, truncatedAnswer } from '../support/fake-upstream.ts';
import { a, decode, header, question, records, soa, u16, wireName } from '../support/dns-wire.ts';
import type { RecordOptions } from '../support/dns-wire.ts';
import { Gateway, replying } from '../support/gateway.ts';

test('a truncated reply is asked for again over TCP and never passed on', async (t) => {
  const gateway = await Gateway.open(
    t,
    byTransport(truncatedAnswer, replying({ answers: [a(60)] })),
  );
  const answer = await gateway.ask('big.example');
  assert.deepEqual([header(answer).tc, header(answer).counts[1]], [false, 1]);
  assert.deepEqual(
    gateway.upstream.queries.map(({ transport }) => transport),
    ['udp', 'tcp'],
  );
});

test('records of strangers do not reach the client', async (t) => {
  const gateway = await Gateway.open(
    t,
    replying({ answers: [a(60), { ...a(60, 192, 0, 2, 66), name: 'bank.example' }] }),
  );
  assert.deepEqual(records(await gateway.ask('www.example'), 'answers'), [
    'www.example A 60 192.0.2.1',
  ]);
});

const ns = (name: string, target: string): RecordOptions => ({
  ...{ name, type: 'NS', ttl: 60 },
  data: wireName(target),
});
const address = (name: string): RecordOptions => ({ ...a(60, 192, 0, 2, 9), name });

test('authority records are of the zones of the names asked, additional ones of what they lead to', async (t) => {
  const gateway = await Gateway.open(
    t,
    replying({
      answers: [
        { type: 'CNAME', ttl: 60, data: wireName('cdn.other.test-cdn') },
        address('cdn.other.test-cdn'),
      ],
      authorities: [
        ns('example', 'ns1.hoster.net'),
        ns('other.test-cdn', 'ns2.hoster.net'),
        ns('.', 'a.root-servers.net'),
        ns('bank.example', 'ns.evil.example'),
        ns('below.www.example', 'ns.evil.example'),
        ns('other.example', 'ns.evil.example'),
      ],
      additionals: [
        address('ns1.hoster.net'),
        address('a.root-servers.net'),
        address('ns.evil.example'),
        address('bank.example'),
      ],
    }),
  );
  const answer = await gateway.ask('www.example', 'A', { edns: {} });
  const names = (section: 'answers' | 'authorities' | 'additionals'): string[] =>
    (decode(answer)[section] ?? []).map(({ name }) => name);
  assert.deepEqual(names('answers'), ['www.example', 'cdn.other.test-cdn']);
  assert.deepEqual(names('authorities'), ['example', 'other.test-cdn', '.']);
  assert.deepEqual(names('additionals'), ['ns1.hoster.net', 'a.root-servers.net', '.']);
  assert.equal(gateway.counter('answersCut'), 1);
  const again = await gateway.ask('www.example', 'A', { edns: {} });
  assert.deepEqual([...again.subarray(12)], [...answer.subarray(12)], 'kept as it was given');
});

test('what MX, SRV, NAPTR and HTTPS lead to comes with them', async (t) => {
  const made: Record<string, RecordOptions> = {
    MX: { type: 'MX', ttl: 60, data: [0, 5, ...wireName('mail.host.net')] },
    SRV: {
      type: 'SRV',
      ttl: 60,
      data: [...u16(1), ...u16(2), ...u16(3), ...wireName('mail.host.net')],
    },
    TYPE35: {
      ...{ type: 'TYPE35', ttl: 60 },
      data: [...u16(1), ...u16(2), 1, 0x73, 2, 0x61, 0x62, 0, ...wireName('mail.host.net')],
    },
    HTTPS: { type: 'HTTPS', ttl: 60, data: [0, 1, ...wireName('mail.host.net')] },
  };
  for (const [type, record] of Object.entries(made)) {
    const gateway = await Gateway.open(
      t,
      replying({
        answers: [record],
        additionals: [address('mail.host.net'), address('x.host.net')],
      }),
    );
    const answer = await gateway.ask('example', type);
    assert.deepEqual(header(answer).counts, [1, 1, 0, 1], type);
  }
});

test('an SOA of another zone does not say how long a name is missing', async (t) => {
  const gateway = await Gateway.open(
    t,
    replying({ rcode: 3, authorities: [soa(600, 600, 'bank.example')] }),
    { mixedCase: false },
  );
  for (const count of [1, 2]) {
    const answer = await gateway.ask('www.example');
    assert.deepEqual([header(answer).rcode, ...header(answer).counts], [3, 1, 0, 0, 0]);
    assert.equal(gateway.upstream.queries.length, count, 'it is not kept');
  }
});

test('records of another class than the question are not of the answer', async (t) => {
  const chaos = { recordClass: 3 };
  const gateway = await Gateway.open(
    t,
    replying({
      answers: [
        a(60),
        { ...a(60, 192, 168, 0, 1), ...chaos },
        { type: 'CNAME', ttl: 60, data: wireName('evil.example'), ...chaos },
        address('evil.example'),
      ],
      authorities: [{ ...ns('example', 'ns.example'), ...chaos }],
    }),
  );
  const answer = await gateway.ask('www.example');
  assert.deepEqual(records(answer, 'answers'), ['www.example A 60 192.0.2.1']);
  assert.deepEqual(header(answer).counts, [1, 1, 0, 0]);
});

test('proofs of DNSSEC stay, wherever in the zone their owners lie', async (t) => {
  const signature = [
    ...u16(47),
    8,
    2,
    ...Array<number>(14).fill(0),
    ...wireName('example'),
    1,
    2,
    3,
  ];
  const gateway = await Gateway.open(
    t,
    replying({
      rcode: 3,
      authorities: [
        soa(60, 60, 'example'),
        {
          name: 'alpha.example',
          type: 'TYPE47',
          ttl: 60,
          data: [...wireName('zulu.example'), 0, 1, 0x40],
        },
        { name: 'alpha.example', type: 'RRSIG', ttl: 60, data: signature },
        {
          name: '0p9mhaveqvm6t7vbl5lop2u3t2rp3tom.example',
          type: 'TYPE50',
          ttl: 60,
          data: [1, 0, 0, 0, 0, 0],
        },
      ],
      ad: true,
    }),
  );
  const answer = await gateway.ask('www.example', 'A', { edns: { dnssecOk: true } });
  assert.deepEqual(header(answer).counts, [1, 0, 4, 1]);
  assert.equal(header(answer).ad, true);
  assert.equal(gateway.counter('answersCut'), 0);
});

test('AD outlives the loss of additional records, not of others', async (t) => {
  for (const [section, isKept] of [
    ['additionals', true],
    ['authorities', false],
  ] as const) {
    const extra = { [section]: [address('bank.example')] };
    const gateway = await Gateway.open(t, replying({ answers: [a(60)], ad: true, ...extra }));
    const answer = await gateway.ask('www.example', 'A', { ad: true });
    assert.deepEqual([header(answer).ad, ...header(answer).counts], [isKept, 1, 1, 0, 0]);
  }
});

test('every byte may stand in a label', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(60)] }));
  const odd = question('0123456789.example', 'A');
  odd.set([0, 0x2e, 0x5c, 0xff, 0x20, 1, 0x80, 0x2a, 0x5f, 0x40], 13);
  const answer = await gateway.send(odd);
  assert.deepEqual([header(answer).rcode, header(answer).counts[1]], [0, 1]);
  assert.deepEqual([...answer.subarray(12, 31)], [...odd.subarray(12, 31)]);
});

test('a TTL above 2^31 lives no longer than the cap', async (t) => {
  const gateway = await Gateway.open(t, replying({ answers: [a(0xffff_ffff)] }));
  const [record = ''] = records(await gateway.ask('www.example'), 'answers');
  const ttl = Number(record.split(' ')[2]);
  assert.ok(ttl <= 86_400, record);
});
