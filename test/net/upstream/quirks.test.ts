/**
 * Servers that do not understand mixed letter case, EDNS or TCP, and forgers that would have us
 * believe so: main/net/upstream/quirks.ts through the pool, over real sockets.
 */
import assert from 'node:assert/strict';
import { describe, test, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { decode, encode } from 'dns-packet';
import { systemClock } from '../../../main/net/clock.ts';
import { makePlan } from '../../../main/net/upstream/plan.ts';
import { UpstreamQuirks, OMIT_CASE, OMIT_OPT } from '../../../main/net/upstream/quirks.ts';
import { LIMITS } from '../../../main/contract/limits.ts';
import { question, readAnswer } from '../../support/dns-client.ts';
import { certificates } from '../../support/certificates.ts';
import { FakeRandom } from '../../support/engine-fakes.ts';
import { FakeSecureUpstream } from '../../support/fake-secure-upstream.ts';
import {
  addressOfName,
  answerAddress,
  answerByName,
  answerCode,
  byTransport,
  delayed,
  FakeUpstream,
  replyTo,
  silent,
} from '../../support/fake-upstream.ts';
import type { Behaviour, FakeQuery } from '../../support/fake-upstream.ts';
import { ask, openPool } from '../../support/net-fakes.ts';
import type { Outcome } from '../../support/net-fakes.ts';

const HOUR_US = 3_600_000_000;

function addressIn({ reply }: Outcome): string {
  assert.notEqual(reply, null, 'a reply');
  const message = readAnswer(reply as Buffer);
  const [answer] = message.answers ?? [];
  return answer?.type === 'A' ? answer.data : message.rcode;
}

const isMixed = ({ name }: FakeQuery): boolean => /[A-Z]/.test(name);
/** How many different names were asked in mixed case. */
const askedMixed = ({ queries }: FakeUpstream): number =>
  new Set(queries.filter(isMixed).map(({ name }) => name.toLowerCase())).size;
/** Long enough to have a capital letter: all lower case comes once in 30 million. */
const nameOf = (index: number, zone = `zone-${String(index)}-of-servers.example`): string =>
  `abcdefgh-${String(index)}.${zone}`;

/** One behaviour for questions that are so, another for all others. */
function when(is: (query: FakeQuery) => boolean, then: Behaviour, other = answerByName): Behaviour {
  return (query, upstream) => (is(query) ? then : other)(query, upstream);
}

async function resolves(pool: Parameters<typeof ask>[0], name: string): Promise<Outcome> {
  const outcome = await ask(pool, name);
  assert.equal(addressIn(outcome), addressOfName(name), name);
  return outcome;
}

/** A clock that can be put ahead. */
function movingClock(): { nowUs(): number; wallMs(): number; aheadUs: number } {
  return {
    aheadUs: 0,
    nowUs() {
      return systemClock.nowUs() + this.aheadUs;
    },
    wallMs: () => systemClock.wallMs(),
  };
}

const bare =
  (rcode: number): Behaviour =>
  (query) => [{ bytes: encode({ type: 'response', id: query.id, flags: rcode }) }];

const WORDS: Readonly<Record<string, Behaviour>> = {
  FORMERR: answerCode(1),
  SERVFAIL: answerCode(2),
  NXDOMAIN: answerCode(3),
  NOTIMP: answerCode(4),
  REFUSED: answerCode(5),
  'no records': answerCode(0),
  'REFUSED without a question': bare(5),
};

describe('servers that do not understand mixed case', () => {
  for (const [word, answer] of Object.entries(WORDS)) {
    test(`${word}: every name resolves, the form is found out, ends, and is renewed`, async (t) => {
      const server = await FakeUpstream.open(t, when(isMixed, answer));
      const clock = movingClock();
      const { pool } = openPool(t, [server], { clock });
      for (let index = 0; index < 6; index++) {
        await resolves(pool, nameOf(index));
      }
      assert.equal(pool.states[0]?.askedWithout, 'mixed case');
      assert.equal(pool.states[0].state, 'up');
      const before = server.queries.length;
      await resolves(pool, nameOf(7));
      assert.equal(server.queries.length, before + 1);
      assert.equal(askedMixed(server), 3, 'three questions told');
      assert.ok(server.queries.at(-1)?.hasOpt, 'EDNS is not to blame');
      clock.aheadUs += 2.1 * HOUR_US;
      await resolves(pool, nameOf(8));
      assert.equal(askedMixed(server), 4, 'tried again');
      await resolves(pool, nameOf(9));
      assert.equal(askedMixed(server), 4, 'renewed by one question');
    });
  }

  test('silence: found out within the time of a question, then no more waiting', async (t) => {
    const server = await FakeUpstream.open(t, when(isMixed, silent));
    const { pool } = openPool(t, [server]);
    for (let index = 0; index < 4; index++) await resolves(pool, nameOf(index));
    assert.equal(pool.states[0]?.askedWithout, 'mixed case');
    const before = server.queries.length;
    await resolves(pool, nameOf(5));
    assert.equal(server.queries.length, before + 1);
  });

  test('two of them, behind one another: names resolve', async (t) => {
    const first = await FakeUpstream.open(t, when(isMixed, answerCode(5)));
    const second = await FakeUpstream.open(t, when(isMixed, silent));
    const { pool } = openPool(t, [first, second]);
    for (let index = 0; index < 4; index++) {
      assert.equal((await resolves(pool, nameOf(index))).upstream, 0);
    }
  });

  test('a zone of its own behind a good server: only that zone is asked so', async (t) => {
    const isRouter = ({ name }: FakeQuery): boolean => /fritz\.box$/i.test(name);
    const server = await FakeUpstream.open(
      t,
      when((query) => isRouter(query) && isMixed(query), answerCode(3)),
    );
    const { pool } = openPool(t, [server]);
    for (let index = 0; index < 5; index++) {
      await resolves(pool, nameOf(index));
      await resolves(pool, nameOf(index, 'fritz.box'));
    }
    assert.equal(pool.states[0]?.askedWithout, '');
    const routers = server.queries.filter(isRouter);
    assert.deepEqual(routers.filter(isMixed).length, 2, 'two questions told');
    const others = server.queries.filter((query) => !isRouter(query));
    assert.ok(others.length === 5 && others.every(isMixed));
  });

  test('names that do not exist cost a good server little', async (t) => {
    const server = await FakeUpstream.open(
      t,
      when(({ name }) => /^no/i.test(name), answerCode(3)),
    );
    const { pool } = openPool(t, [server]);
    await resolves(pool, nameOf(1, 'one-zone.example'));
    for (let index = 0; index < 50; index++) {
      await ask(pool, `no-${nameOf(index, 'one-zone.example')}`);
    }
    assert.equal(server.queries.length, 51, 'nothing more in a zone that is known');
    for (let index = 0; index < 200; index++) await ask(pool, `no.zone-${String(index)}.example`);
    const more = server.queries.length - 251;
    assert.ok(more <= 16 + 260 / 8, `${String(more)} confirmations`);
    assert.equal(pool.states[0]?.askedWithout, '');
  });

  test('dns.mixedCase: false keeps all in lower case', async (t) => {
    const server = await FakeUpstream.open(t, answerByName);
    const servers = makePlan({ upstreams: [server.endpoint], mixedCase: false }, []);
    const { pool } = openPool(t, [], { servers });
    for (let index = 0; index < 5; index++) await resolves(pool, nameOf(index));
    assert.ok(!server.queries.some(isMixed));
  });
});

describe('servers that do not understand EDNS', () => {
  const hasOpt = (query: FakeQuery): boolean => query.hasOpt;
  for (const word of ['FORMERR', 'SERVFAIL', 'NOTIMP', 'REFUSED']) {
    test(`${word}: every name resolves, and OPT is tried again after a while`, async (t) => {
      const server = await FakeUpstream.open(t, when(hasOpt, WORDS[word] as Behaviour));
      const clock = movingClock();
      const { pool } = openPool(t, [server], { clock });
      for (let index = 0; index < 5; index++) await resolves(pool, nameOf(index));
      assert.match(pool.states[0]?.askedWithout ?? '', /EDNS/);
      assert.ok(!(server.queries.at(-1)?.hasOpt ?? true));
      server.behave(answerByName);
      clock.aheadUs += 2.1 * HOUR_US;
      await resolves(pool, nameOf(8));
      assert.ok(server.queries.at(-1)?.hasOpt);
      assert.equal(pool.states[0]?.askedWithout, '');
    });
  }

  test('silence: found out within the time of a question', async (t) => {
    const server = await FakeUpstream.open(t, when(hasOpt, silent));
    const { pool } = openPool(t, [server]);
    for (let index = 0; index < 4; index++) await resolves(pool, nameOf(index));
    assert.equal(pool.states[0]?.askedWithout, 'EDNS');
    const before = server.queries.length;
    await resolves(pool, nameOf(5));
    assert.equal(server.queries.length, before + 1);
    assert.ok(server.queries.some(isMixed), 'mixed case is not to blame');
  });

  for (const protocol of ['tcp', 'tls', 'https'] as const) {
    const openServer = async (t: TestContext, behaviour: Behaviour) => {
      const { good, authority } = await certificates();
      const server =
        protocol === 'tcp'
          ? await FakeUpstream.open(t, behaviour)
          : await FakeSecureUpstream.open(t, protocol, good, behaviour);
      const text = 'text' in server ? server.text() : `tcp://${server.endpoint}`;
      return { server, ...openPool(t, [text], { authorities: [authority] }) };
    };

    test(`silence over ${protocol}: found out, then no more waiting`, async (t) => {
      const { server, pool } = await openServer(t, when(hasOpt, silent));
      for (let index = 0; index < 4; index++) await resolves(pool, nameOf(index));
      assert.equal(pool.states[0]?.askedWithout, 'EDNS');
      const before = server.queries.length;
      await resolves(pool, nameOf(5));
      assert.equal(server.queries.length, before + 1);
    });

    test(`names that get no answer over ${protocol} do not end EDNS`, async (t) => {
      const isLame = ({ name }: FakeQuery): boolean => name.endsWith('lame.example');
      const { server, pool } = await openServer(t, when(isLame, silent));
      await resolves(pool, nameOf(0));
      const lame = Array.from({ length: 4 }, (_, index) => nameOf(index, 'lame.example'));
      const failing = Promise.all(lame.map((name) => ask(pool, name)));
      // Each of them was asked twice.
      while (server.queries.length < 1 + 2 * lame.length) await delay(5);
      const { tookMs } = await resolves(pool, nameOf(1));
      assert.ok(tookMs < 2_500, `${String(tookMs)} ms`);
      for (const { failure } of await failing) assert.equal(failure, 'timeout');
      await resolves(pool, nameOf(2));
      assert.equal(pool.states[0]?.askedWithout, '');
      const needed = server.queries.filter((query) => !isLame(query) || protocol !== 'tcp');
      assert.ok(needed.every(hasOpt), 'an encrypted one keeps its padding');
    });
  }

  test('errors about names do not end EDNS', async (t) => {
    const server = await FakeUpstream.open(t, answerCode(2));
    const { pool } = openPool(t, [server]);
    for (let index = 0; index < 5; index++) await ask(pool, nameOf(index));
    server.behave(answerByName);
    await resolves(pool, nameOf(6));
    assert.equal(server.queries.at(-1)?.hasOpt, true);
    assert.equal(pool.states[0]?.askedWithout, '');
  });

  test('an extended error (BADVERS) is no answer', async (t) => {
    const badVersion: Behaviour = (query) => {
      const message = decode(replyTo(query));
      const opt = { type: 'OPT', name: '.', udpPayloadSize: 512, extendedRcode: 1, ednsVersion: 0 };
      const record = { ...opt, flags: 0, flag_do: false, options: [] };
      return [{ bytes: encode({ ...message, additionals: [record as never] }) }];
    };
    const server = await FakeUpstream.open(t, when(hasOpt, badVersion));
    const { pool } = openPool(t, [server]);
    for (let index = 0; index < 4; index++) await resolves(pool, nameOf(index));
  });
});

const COOKIE = 'a1b2c3d4e5f60718';

/** Answers by name, and sends our client cookie back with one of its own. */
const withCookie: Behaviour = (query, upstream) => {
  const opt = (decode(query.bytes).additionals ?? []).find(({ type }) => type === 'OPT');
  const options = opt?.type === 'OPT' ? opt.options : [];
  const sent = options.find(({ code }) => (code as number) === 10) as { data?: Buffer } | undefined;
  const ours = sent?.data?.toString('hex').slice(0, 16) ?? '';
  const [good] = answerByName(query, upstream);
  const fields = {
    type: 'OPT',
    name: '.',
    udpPayloadSize: 1_232,
    extendedRcode: 0,
    ednsVersion: 0,
  };
  const reply = {
    ...{ ...fields, flags: 0, flag_do: false },
    options: [{ code: 10, data: Buffer.from(ours + COOKIE, 'hex') }],
  };
  const message = decode(good?.bytes as Buffer);
  return [{ bytes: encode({ ...message, additionals: [reply as never] }) }];
};

describe('pools of servers, some with cookies', () => {
  for (const [what, options] of [
    ['TCP silent', {}],
    ['TCP closed', { tcp: false }],
  ] as const) {
    test(`${what}: one question at most is late`, async (t) => {
      let turn = 0;
      const some: Behaviour = (query, upstream) =>
        (turn++ % 2 === 0 ? withCookie : answerByName)(query, upstream);
      const server = await FakeUpstream.open(t, byTransport(some, silent), options);
      const { pool, counters } = openPool(t, [server]);
      for (let index = 0; index < 30; index++) await resolves(pool, nameOf(index));
      // What is asked over TCP is late.
      assert.ok(
        counters.get('upstreamTcp') <= 1,
        `${String(counters.get('upstreamTcp'))} are late`,
      );
      assert.equal(pool.states[0]?.askedWithout, 'cookies in every reply');
    });
  }
});

describe('one forged packet', () => {
  const lowerCased =
    (inner: Behaviour): Behaviour =>
    (query, upstream) =>
      inner({ ...query, name: query.name.toLowerCase() }, upstream);
  const EVIL = answerAddress('203.0.113.66');
  const FORGERIES: Readonly<Record<string, Behaviour>> = {
    'FORMERR without a question': bare(1),
    'REFUSED without a question': bare(5),
    'an answer in the wrong case': lowerCased(EVIL),
    'an answer without the cookie': EVIL,
    'a broken answer': (query, upstream) => [
      { bytes: (EVIL(query, upstream)[0]?.bytes as Buffer).subarray(0, -2) },
    ],
  };
  for (const [what, forgery] of Object.entries(FORGERIES)) {
    test(`${what} costs another question, and switches nothing off`, async (t) => {
      const server = await FakeUpstream.open(t, withCookie, { tcp: false });
      const { pool } = openPool(t, [server]);
      await resolves(pool, nameOf(0));
      let left = 1;
      server.behave((query, upstream) => [
        ...(left-- > 0 ? forgery(query, upstream) : []),
        ...delayed(10, withCookie)(query, upstream),
      ]);
      const first = await ask(pool, nameOf(1));
      assert.notEqual(addressIn(first), '203.0.113.66');
      server.queries.length = 0;
      for (let index = 2; index < 6; index++) await resolves(pool, nameOf(index));
      assert.equal(server.queries.length, 4);
      assert.ok(server.queries.every((query) => isMixed(query) && query.hasOpt));
      const cookies = server.queries.map(({ bytes }) => bytes.toString('hex').includes(COOKIE));
      assert.ok(cookies.every(Boolean), 'with its cookie');
      assert.equal(pool.states[0]?.askedWithout, '');
    });
  }
});

describe('what is remembered', () => {
  const query = question('www.some-zone.example', 'A', { ednsBytes: 1_232 });
  const end = query.length - 11;

  test('three different questions, not one three times', () => {
    const quirks = new UpstreamQuirks(new FakeRandom());
    for (let time = 0; time < 9; time++) quirks.changedCase(query, end, 1);
    assert.equal(quirks.describe(1), '');
    for (const name of ['a.example', 'b.example']) {
      const other = question(name, 'A');
      quirks.changedCase(other, other.length, 1);
    }
    assert.equal(quirks.describe(1), 'mixed case');
    assert.equal(quirks.omitted(quirks.zoneOf(query, end), 1), OMIT_CASE);
  });

  test('a reply that shows the contrary outweighs strikes', () => {
    const quirks = new UpstreamQuirks(new FakeRandom());
    for (let time = 0; time < 9; time++) {
      const other = question(`n${String(time)}.zone-${String(time)}.example`, 'A');
      quirks.strike(other, other.length, OMIT_CASE | OMIT_OPT, 1);
      if (time % 2 === 1) quirks.provedGood(quirks.zoneOf(query, end), 0, 1);
    }
    assert.equal(quirks.describe(1), '');
  });

  test('losses of one moment are one strike', () => {
    const quirks = new UpstreamQuirks(new FakeRandom());
    for (let time = 0; time < 20; time++) {
      const other = question(`n${String(time)}.example`, 'A');
      quirks.strikeSilence(other, other.length, OMIT_CASE, 5, 10);
    }
    assert.equal(quirks.describe(10), '');
  });

  test('zones are bounded, the newer stay', () => {
    const quirks = new UpstreamQuirks(new FakeRandom());
    const count = LIMITS.upstreamZonesMax * 4;
    const zone = (index: number): number => {
      const one = question(`www.zone-${String(index)}.example`, 'A');
      return quirks.zoneOf(one, one.length);
    };
    for (let index = 0; index < count; index++) {
      const one = zone(index);
      quirks.provedGood(one, 0, 1);
      assert.equal(quirks.doubtsOpt(one, 1), false);
    }
    const last = zone(count - 1);
    assert.equal(quirks.doubtsCase(last, 1), false);
    assert.equal(quirks.doubtsCase(last, 5 * HOUR_US), true, 'for hours, not for good');
  });
});
