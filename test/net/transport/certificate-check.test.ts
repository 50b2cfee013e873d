/**
 * Hashes of stamps: the signed body of some certificate in the chain must be the one that is named,
 * on top of the ordinary check.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { signedBody } from '../../../main/net/transport/certificate-check.ts';
import { UpstreamPool } from '../../../main/net/upstream/pool.ts';
import { parseUpstream } from '../../../main/net/upstream-address.ts';
import type { SecureServer } from '../../../main/net/upstream-address.ts';
import { systemClock } from '../../../main/net/clock.ts';
import { CryptoRandom } from '../../../main/net/random.ts';
import { certificates } from '../../support/certificates.ts';
import { answerByName } from '../../support/fake-upstream.ts';
import { FakeSecureUpstream } from '../../support/fake-secure-upstream.ts';
import { ask, TestCounters } from '../../support/net-fakes.ts';

const hashOf = (pem: string): string => {
  const body = signedBody(new X509Certificate(pem).raw);
  assert.notEqual(body, null);
  return createHash('sha256')
    .update(body as Buffer)
    .digest('hex');
};

test('the signed body is what openssl finds at that place', async () => {
  const { good } = await certificates();
  const raw = new X509Certificate(good.cert).raw;
  const body = signedBody(raw) as Buffer;
  const child = promisify(execFile)('openssl', ['asn1parse', '-inform', 'DER']);
  child.child.stdin?.end(raw);
  const { stdout } = await child;
  const [, second = ''] = stdout.split('\n');
  const [, offset, headerBytes, bytes] = /^\s*(\d+):d=1\s+hl=(\d+)\s+l=\s*(\d+)/.exec(second) ?? [];
  assert.equal(body.length, Number(headerBytes) + Number(bytes));
  assert.ok(raw.subarray(Number(offset)).subarray(0, body.length).equals(body));
});

test('bytes that are no certificate have no signed body', () => {
  for (const hex of ['', '30', '3080', '300530', '30053003020101', '02010130', '3084ffffffff00']) {
    const body = signedBody(Buffer.from(hex, 'hex'));
    if (hex === '30053003020101') assert.equal(body?.toString('hex'), '3003020101');
    else assert.equal(body, null, hex);
  }
});

test('a chain with a named certificate is believed, another is not', async (t) => {
  const all = await certificates();
  const server = await FakeSecureUpstream.open(t, 'tls', all.good, answerByName);
  const plain = parseUpstream(server.text()) as SecureServer;
  const answers = async (chainHashes: string[], authority = all.authority): Promise<boolean> => {
    const pool = new UpstreamPool({
      servers: [{ ...plain, chainHashes }],
      clock: systemClock,
      random: new CryptoRandom(),
      counters: new TestCounters(),
      authorities: [authority],
    });
    const { reply } = await ask(pool, 'a.example');
    pool.close();
    return reply !== null;
  };
  assert.equal(await answers([hashOf(all.good.cert)]), true, 'the server certificate');
  assert.equal(await answers([hashOf(all.authority)]), true, 'the authority');
  assert.equal(await answers([hashOf(all.otherName.cert)]), false, 'another certificate');
  assert.equal(
    await answers([hashOf(all.good.cert)], all.selfSigned.cert),
    false,
    'a hash does not stand in for the ordinary check',
  );
});
