/** Access list and rate limit (main/engine/state/client-gate.ts), and what the engine makes of them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { COUNTER, COUNTER_BLOCK_SLOTS } from '../../../main/contract/counters.ts';
import {
  ClientGate,
  createGateTable,
  GATE_DENIED,
  GATE_OPEN,
} from '../../../main/engine/state/client-gate.ts';
import { Engine } from '../../../main/engine/engine.ts';
import type { Access } from '../../../main/engine/filter/engine-config.ts';
import { probeZone } from '../../../main/dns/special-zones.ts';
import { parseAddress } from '../../../main/net/listen/client-address.ts';
import { parseNetwork, parseNetworks } from '../../../main/control/policy/networks.ts';
import { header, question } from '../../support/dns-wire.ts';
import {
  FakeClient,
  FakeClock,
  FakeExchange,
  FakeRandom,
  FakeSink,
  policy,
  table,
} from '../../support/engine-fakes.ts';

function address(text: string): Uint8Array {
  const bytes = new Uint8Array(16);
  parseAddress(text, bytes);
  return bytes;
}

function access(queriesPerSecond: number, allow = ['0.0.0.0/0', '::/0'], exempt: string[] = []) {
  return {
    queriesPerSecond,
    allow: parseNetworks(allow),
    exempt: parseNetworks(exempt),
  } satisfies Access;
}

function gate(settings: Access, table = createGateTable(7), originUs = 0): ClientGate {
  const made = new ClientGate(table, originUs);
  made.configure(settings);
  return made;
}

function admitted(one: ClientGate, text: string, times: number, nowUs: number): number {
  let count = 0;
  const bytes = address(text);
  for (let time = 0; time < times; time++) {
    if (one.admit(bytes, nowUs | 0, false) === GATE_OPEN) count++;
  }
  return count;
}

describe('the access list', () => {
  const home = gate(
    access(0, ['127.0.0.0/8', '::1', '192.168.0.0/16', 'fd00::/8', '10.1.2.128/25']),
  );
  for (const [text, isAllowed] of [
    ['127.0.0.1', true],
    ['127.255.0.1', true],
    ['192.168.77.3', true],
    ['192.169.0.1', false],
    ['10.1.2.129', true],
    ['10.1.2.127', false],
    ['8.8.8.8', false],
    ['::1', true],
    ['::2', false],
    ['fd12::5', true],
    ['fe80::1', false],
    ['::ffff:192.168.0.1', true],
  ] as const) {
    test(`${text} ${isAllowed ? 'may' : 'may not'} ask`, () => {
      const expected = isAllowed ? GATE_OPEN : GATE_DENIED;
      for (let time = 0; time < 3; time++) {
        assert.equal(home.admit(address(text), 0, false), expected);
        assert.equal(home.allows(address(text)), isAllowed);
      }
    });
  }

  test('a new list acts at once on clients that are known', () => {
    const one = gate(access(0, ['10.0.0.0/8']));
    assert.equal(one.admit(address('10.0.0.1'), 0, false), GATE_OPEN);
    one.configure(access(0, ['192.168.0.0/16']));
    assert.equal(one.admit(address('10.0.0.1'), 0, false), GATE_DENIED);
  });

  test('networks are read as people write them, others are not', () => {
    assert.equal(parseNetwork('10.0.0.1')?.bits, 128);
    assert.equal(parseNetwork('0.0.0.0/0')?.bits, 96);
    assert.equal(parseNetwork('fd00::/8')?.bits, 8);
    for (const text of [
      '10.0.0.0/33',
      'fd00::/129',
      '10.0.0',
      '300.0.0.1/8',
      'a/8',
      '',
      '1.2.3.4/x',
    ]) {
      assert.equal(parseNetwork(text), undefined, text);
    }
  });
});

describe('the rate limit', () => {
  test('twice the rate at once, then the rate', () => {
    const one = gate(access(100));
    assert.equal(admitted(one, '10.0.0.1', 1_000, 0), 200);
    assert.equal(admitted(one, '10.0.0.1', 1_000, 1e6), 100);
    assert.equal(admitted(one, '10.0.0.1', 1_000, 10e6), 200);
    assert.equal(admitted(one, '10.0.0.2', 1_000, 10e6), 200, 'each has its own');
  });

  // A burst of 2 s, or 3 s where TCP has its part, and 2 s of 1,000.
  for (const [name, isTcp, least, most] of [
    ['UDP', () => false, 3_800, 4_200],
    ['TCP', () => true, 4_750, 5_250],
    ['both', (query: number) => query % 3 === 0, 3_800, 5_250],
  ] as const) {
    test(`holds in total over threads: ${name}`, () => {
      const shared = createGateTable(9);
      // Threads count their own time from different moments.
      const threads = [0, 1, 2, 3].map((index) => gate(access(1_000), shared, -index * 1e6));
      let count = 0;
      const client = address('10.0.0.9');
      // 2 s at 4,000 a second, spread over the threads.
      for (let query = 0; query < 8_000; query++) {
        const index = query % 4;
        const nowUs = (50e6 + query * 250 + index * 1e6) | 0;
        if (threads[index]?.admit(client, nowUs, isTcp(query)) === GATE_OPEN) count++;
      }
      assert.ok(count >= least && count <= most, String(count));
    });
  }

  test('an IPv6 /56 is one client', () => {
    const one = gate(access(100));
    assert.equal(admitted(one, '2001:db8:0:aa01::1', 150, 0), 150);
    assert.equal(admitted(one, '2001:db8:0:aaff:1:2:3:4', 150, 0), 50);
    assert.equal(admitted(one, '2001:db8:0:ab01::1', 150, 0), 150);
  });

  test('0 is no limit, and exempt networks have none', () => {
    assert.equal(admitted(gate(access(0)), '10.0.0.1', 100_000, 0), 100_000);
    const one = gate(access(10, ['0.0.0.0/0'], ['10.0.0.0/8']));
    assert.equal(admitted(one, '10.0.0.1', 1_000, 0), 1_000);
    assert.equal(admitted(one, '11.0.0.1', 1_000, 0), 20);
  });

  test('a forger who empties the bucket over UDP does not keep its owner from TCP', () => {
    const one = gate(access(100));
    const owner = address('10.0.0.1');
    let forged = 0;
    let own = 0;
    for (let ms = 0; ms < 10_000; ms++) {
      if (one.admit(owner, ms * 1_000, false) === GATE_OPEN) forged++;
      if (ms % 20 === 0 && one.admit(owner, ms * 1_000, true) === GATE_OPEN) own++;
    }
    assert.equal(own, 500, 'every question of the owner');
    assert.ok(forged + own <= 100 * (3 + 10), `${String(forged + own)} in ten seconds`);
  });

  test('the clock may wrap, and a flood of other clients costs no more memory', () => {
    const one = gate(access(100));
    for (let hour = 0; hour < 5; hour++) {
      assert.equal(admitted(one, '10.0.0.1', 1_000, hour * 3_600e6), 200, `hour ${String(hour)}`);
    }
    const bytes = new Uint8Array(16);
    for (let client = 0; client < 300_000; client++) {
      new DataView(bytes.buffer).setUint32(0, 0x2001_0000 + (client >>> 16));
      new DataView(bytes.buffer).setUint32(4, client << 8);
      assert.equal(one.admit(bytes, 0, false), GATE_OPEN);
    }
  });
});

test('over the rate: TC=1 or nothing over UDP, REFUSED over TCP; all is counted', () => {
  const slots = new Float64Array(COUNTER_BLOCK_SLOTS);
  const sink = new FakeSink();
  const engine = new Engine({
    ...{ clock: new FakeClock(), random: new FakeRandom(), exchange: new FakeExchange(), sink },
    counters: { slots },
    gate: new ClientGate(createGateTable(3), 0),
  });
  engine.setPolicy(policy({ lists: table(['ads.example']), access: access(5, ['10.0.0.0/8']) }));
  const packet = question('ads.example', 'A', { edns: {} });
  const out = new Uint8Array(4_096);
  const client = new FakeClient(10, 0, 0, 1);
  const seen: string[] = [];
  for (let time = 0; time < 16; time++) {
    const written = engine.handle(packet, 0, packet.length, client, out, 0);
    seen.push(written === 0 ? '-' : header(out).tc ? 'TC' : 'ok');
  }
  assert.deepEqual(seen, [...Array<string>(10).fill('ok'), '-', 'TC', '-', 'TC', '-', 'TC']);
  assert.deepEqual(
    [sink.last.outcome, sink.last.reason, sink.last.name],
    ['rejected', 'rate-limited', 'ads.example'],
  );
  const stranger = new FakeClient(8, 8, 8, 8);
  assert.equal(engine.handle(packet, 0, packet.length, stranger, out, 0), 0);
  client.transport = 'tcp';
  const overTcp: number[] = [];
  for (let time = 0; time < 7; time++) {
    assert.ok(engine.handle(packet, 0, packet.length, client, out, 0) > 0);
    overTcp.push(header(out).rcode);
  }
  assert.deepEqual(overTcp, [0, 0, 0, 0, 0, 5, 5]);
  assert.equal(engine.handle(packet, 0, 12, client, out, 0), 0, 'and no words for garbage');
  const count = (name: keyof typeof COUNTER): number => slots[COUNTER[name]] as number;
  assert.deepEqual(
    [count('received'), count('answered'), count('ignored'), count('limited'), count('denied')],
    [25, 20, 5, 9, 1],
  );
});

test('a probe of the takeover is answered beyond the rate, other names below it are not', () => {
  const engine = new Engine({
    ...{ clock: new FakeClock(), random: new FakeRandom(), exchange: new FakeExchange() },
    ...{ sink: new FakeSink(), counters: { slots: new Float64Array(COUNTER_BLOCK_SLOTS) } },
    gate: new ClientGate(createGateTable(3), 0),
  });
  const probe = probeZone('c0ffee');
  engine.setPolicy(policy({ lists: table(['ads.example']), probe, access: access(5) }));
  const out = new Uint8Array(4_096);
  const client = new FakeClient(127, 0, 0, 1);
  const ask = (name: string): number => {
    const packet = question(name, 'A', {});
    return engine.handle(packet, 0, packet.length, client, out, 0);
  };
  for (let time = 0; time < 100; time++) ask('ads.example');
  for (let time = 0; time < 10; time++) {
    assert.ok(ask('12ab.c0ffee.probe.sluice.internal') > 0);
    assert.deepEqual([header(out).tc, header(out).rcode], [false, 0]);
  }
  assert.ok(
    ask('12ab.decaf.probe.sluice.internal') === 0 || header(out).tc,
    'not of this instance',
  );
});
