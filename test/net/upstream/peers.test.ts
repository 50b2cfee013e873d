/**
 * Encrypted upstreams against real servers: unbound, and dnsdist in front of it, over DoT and DoH.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAnswer } from '../../support/dns-client.ts';
import { certificates, SERVER_NAME } from '../../support/certificates.ts';
import { startDnsdist } from '../../support/dnsdist.ts';
import { ask, openPool } from '../../support/net-fakes.ts';
import { missingTools } from '../../support/tools.ts';
import { startUnbound } from '../../support/unbound.ts';

const COUNT = 200;
const RECORDS = Array.from(
  { length: COUNT },
  (_, index) => `n${String(index)}.peer.example. 300 IN A 192.0.2.${String(index)}`,
);

for (const peer of ['unbound', 'dnsdist'] as const) {
  const needs =
    peer === 'unbound'
      ? (['unbound', 'openssl'] as const)
      : (['unbound', 'dnsdist', 'openssl'] as const);
  for (const protocol of ['tls', 'https'] as const) {
    test(`${peer} over ${protocol}`, { skip: missingTools(...needs) }, async (t) => {
      const { authority, good } = await certificates();
      const unbound = await startUnbound(RECORDS, peer === 'unbound' ? good : undefined);
      t.after(() => unbound.stop());
      const server = peer === 'unbound' ? unbound : await startDnsdist(t, unbound.port, good);
      const text =
        protocol === 'tls'
          ? `tls://127.0.0.1:${String(server.tlsPort)}#name=${SERVER_NAME}`
          : `https://127.0.0.1:${String(server.httpsPort)}/dns-query#name=${SERVER_NAME}`;
      const { pool, counters } = openPool(t, [text], { authorities: [authority] });
      const startedMs = performance.now();
      const outcomes = await Promise.all(
        Array.from({ length: COUNT }, (_, index) => ask(pool, `n${String(index)}.peer.example`)),
      );
      const tookMs = performance.now() - startedMs;
      outcomes.forEach(({ reply }, index) => {
        assert.notEqual(reply, null, `question ${String(index)}`);
        const [answer] = readAnswer(reply as Buffer).answers ?? [];
        assert.equal(answer?.type === 'A' ? answer.data : '', `192.0.2.${String(index)}`);
      });
      assert.equal(counters.get('upstreamMismatched'), 0);
      const nowhere = await ask(pool, 'nowhere.example');
      assert.equal(readAnswer(nowhere.reply as Buffer).rcode, 'NXDOMAIN');
      const [state] = pool.states;
      assert.ok((state?.connections ?? 99) <= 4, `${String(state?.connections)} connections`);
      t.diagnostic(
        `${String(COUNT)} questions at once in ${tookMs.toFixed(0)} ms over ` +
          `${String(state?.connections)} connections`,
      );
      // Another network: everything is made anew and works again.
      pool.reset();
      assert.notEqual((await ask(pool, 'n1.peer.example')).reply, null);
    });
  }
}
