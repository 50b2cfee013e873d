/**
 * The real program with 140,000 listed names, a real unbound as its upstream and dig as the
 * client: what a person sees who points a machine at it.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { listNames } from '../../bench/load/names.ts';
import { dig } from '../support/dig.ts';
import { makeFolder, startSluice } from '../support/running-program.ts';
import { missingTools } from '../support/tools.ts';
import { startUnbound } from '../support/unbound.ts';

const LONG_TEXT = Array.from(
  { length: 12 },
  (_, index) => `"${String.fromCharCode(97 + index).repeat(180)}"`,
);
const RECORDS = [
  'www.site.example. 300 IN A 192.0.2.10',
  'www.site.example. 300 IN AAAA 2001:db8::10',
  'mixed.site.example. 300 IN A 192.0.2.11',
  'later.site.example. 300 IN A 192.0.2.12',
  'allowed.blocked.example. 300 IN A 192.0.2.13',
  'second.site.example. 300 IN A 192.0.2.14',
  ...LONG_TEXT.map((text) => `big.site.example. 300 IN TXT ${text}`),
  'svc.site.example. 300 IN TYPE65 \\# 10 00010000010003026832',
];

test(
  'a gateway with 140,000 names, unbound and dig',
  { skip: missingTools('dig', 'unbound'), timeout: 120_000 },
  async (t) => {
    const folder = await makeFolder(t);
    const names = listNames(140_000);
    await writeFile(join(folder, 'names.txt'), `${names.join('\n')}\nblocked.example\n`);
    const first = await startUnbound(RECORDS);
    t.after(() => first.stop());
    const second = await startUnbound(RECORDS);
    t.after(() => second.stop());
    const sluice = await startSluice(folder, {
      dns: {
        listen: ['127.0.0.1:0'],
        upstreams: [`127.0.0.1:${String(first.port)}`, `127.0.0.1:${String(second.port)}`],
      },
      lists: [{ name: 'made-up', url: `file://${folder}/names.txt` }],
      rules: ['@@||allowed.blocked.example^'],
      http: { listen: '127.0.0.1:0' },
    });
    t.after(() => sluice.stop());
    const port = sluice.dnsPort;

    await t.test('listed names and names below them are blocked, near misses are not', async () => {
      for (const name of [names[0], names[70_000], names[139_999], `www.${names[5] ?? ''}`]) {
        const answer = await dig(port, name ?? '', 'A');
        assert.deepEqual(answer.answers, ['A 0.0.0.0'], name);
        assert.deepEqual(answer.ttls, [10]);
        assert.match(answer.text, /EDE: 15 \(Blocked\)/);
        assert.ok(answer.flags.includes('ra'));
      }
      const near = await dig(port, `x${names[0] ?? ''}`, 'A');
      assert.equal(near.status, 'NXDOMAIN');
    });

    await t.test('AAAA gets ::, HTTPS gets NODATA with SOA', async () => {
      assert.deepEqual((await dig(port, 'blocked.example', 'AAAA')).answers, ['AAAA ::']);
      const https = await dig(port, 'blocked.example', 'TYPE65');
      assert.equal(https.status, 'NOERROR');
      assert.deepEqual(https.answers, []);
      assert.match(https.authority[0] ?? '', /^SOA /);
    });

    await t.test('an allow rule lets a name below a blocked one through', async () => {
      const answer = await dig(port, 'allowed.blocked.example', 'A');
      assert.deepEqual(answer.answers, ['A 192.0.2.13']);
    });

    await t.test(
      'a second question is answered from the cache, with the TTL counted down',
      async () => {
        assert.deepEqual((await dig(port, 'www.site.example', 'A')).answers, ['A 192.0.2.10']);
        await new Promise((done) => setTimeout(done, 1_100));
        const again = await dig(port, 'WWW.Site.example', 'A');
        assert.deepEqual(again.answers, ['A 192.0.2.10']);
        assert.ok((again.ttls[0] ?? 300) < 300);
        assert.match(again.text, /\nWWW\.Site\.example\./, 'the case of the question is kept');
        assert.equal(
          first.asked('www.site.example', 'A') + second.asked('www.site.example', 'A'),
          1,
        );
        assert.deepEqual((await dig(port, 'www.site.example', 'AAAA')).answers, [
          'AAAA 2001:db8::10',
        ]);
      },
    );

    await t.test('a negative answer is cached too', async () => {
      assert.equal((await dig(port, 'missing.site.example', 'A')).status, 'NXDOMAIN');
      assert.equal((await dig(port, 'missing.site.example', 'A')).status, 'NXDOMAIN');
      const asked =
        first.asked('missing.site.example', 'A') + second.asked('missing.site.example', 'A');
      assert.equal(asked, 1);
    });

    await t.test(
      'TCP works, and a large answer is truncated over UDP and whole over TCP',
      async () => {
        assert.deepEqual((await dig(port, '+tcp', 'www.site.example')).answers, ['A 192.0.2.10']);
        const cut = await dig(port, '+ignore', '+bufsize=1232', 'big.site.example', 'TXT');
        assert.ok(cut.flags.includes('tc'));
        assert.equal(cut.answers.length, 0);
        const plain = await dig(port, '+ignore', '+noedns', 'big.site.example', 'TXT');
        assert.ok(plain.flags.includes('tc'));
        assert.equal(plain.edns, false);
        const whole = await dig(port, 'big.site.example', 'TXT');
        assert.equal(whole.answers.length, 12);
        assert.match(whole.text, /\(TCP\)/);
      },
    );

    await t.test('an unknown type passes untouched', async () => {
      const answer = await dig(
        port,
        '+noall',
        '+answer',
        '+unknownformat',
        'svc.site.example',
        'TYPE65',
      );
      assert.match(answer.text, /TYPE65\s+\\# 10 00010000010003026832/);
    });

    await t.test('a rule added now blocks a name that is already cached', async () => {
      assert.deepEqual((await dig(port, 'later.site.example')).answers, ['A 192.0.2.12']);
      await sluice.call('rules.add', { rule: '||later.site.example^' });
      assert.deepEqual((await dig(port, 'later.site.example')).answers, ['A 0.0.0.0']);
      await sluice.call('rules.remove', { rule: '||later.site.example^' });
      assert.deepEqual((await dig(port, 'later.site.example')).answers, ['A 192.0.2.12']);
    });

    await t.test('paused means forwarding, not refusing', async () => {
      await sluice.call('pause', { minutes: 5 });
      assert.deepEqual((await dig(port, 'blocked.example')).answers, [], 'asked upstream');
      assert.equal(first.asked('blocked.example', 'A') + second.asked('blocked.example', 'A'), 1);
      await sluice.call('resume');
      assert.deepEqual((await dig(port, 'blocked.example')).answers, ['A 0.0.0.0']);
    });

    await t.test(
      'when the first upstream dies the second answers, at once after the first time',
      async () => {
        await first.stop();
        const startedAt = performance.now();
        assert.deepEqual((await dig(port, 'second.site.example')).answers, ['A 192.0.2.14']);
        assert.ok(performance.now() - startedAt < 2_000);
        await second.stop();
        const dead = performance.now();
        const failed = await dig(port, 'nobody.site.example');
        assert.equal(failed.status, 'SERVFAIL');
        assert.match(failed.text, /EDE: 2[23]/);
        assert.ok(performance.now() - dead < 2_500, 'the budget is 2 s');
        assert.deepEqual((await dig(port, 'blocked.example')).answers, ['A 0.0.0.0']);
      },
    );

    await t.test('every answer is in the log or counted as dropped', async () => {
      const status = await waitFor(async () => {
        const now = await sluice.call<{
          totals: Record<string, number>;
          log: { stored: number };
        }>('status');
        const stored = now.log.stored + (now.totals['logDropped'] ?? 0);
        return stored === now.totals['queries'] ? now : null;
      });
      assert.ok((status.totals['queries'] ?? 0) > 20);
    });

    assert.equal(await sluice.stop(), 0);
  },
);

async function waitFor<Value>(probe: () => Promise<Value | null>): Promise<Value> {
  const until = performance.now() + 5_000;
  for (;;) {
    const value = await probe();
    if (value !== null) return value;
    if (performance.now() > until) throw new Error('the condition did not come true within 5 s');
    await new Promise((done) => setTimeout(done, 50));
  }
}
