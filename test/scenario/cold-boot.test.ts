/**
 * The whole program in this process, with an encrypted upstream by name: a cold boot without a
 * network, what people are told of it, and the next boot with what was remembered. The conversation
 * alone is cold-boot.rpl.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { compose } from '../../main/app/program.ts';
import type { Program } from '../../main/app/program.ts';
import { certificates } from '../support/certificates.ts';
import { askUdp } from '../support/dns-client.ts';
import type { Answer } from '../support/dns-client.ts';
import {
  addressOfName,
  answerAddress,
  answerByName,
  FakeUpstream,
  replyTo,
  silent,
} from '../support/fake-upstream.ts';
import { FakeSecureUpstream } from '../support/fake-secure-upstream.ts';
import { tempDir } from '../support/temp-dir.ts';
import { missingTools } from '../support/tools.ts';

const SECURE_NAME = 'dns.sluice.test';

interface Settings {
  readonly upstreams: readonly string[];
  readonly bootstrap: readonly string[];
}

async function boot(t: TestContext, folder: string, settings: Settings): Promise<Program> {
  const dns = JSON.stringify({ listen: ['127.0.0.1:0'], ...settings });
  await writeFile(join(folder, 'sluice.yaml'), `dns: ${dns}\nlists: []\n`);
  const program = await compose({ dataDirectory: folder });
  t.after(() => program.close());
  return program;
}

function addressIn(answer: Answer): string {
  const [record] = answer.answers ?? [];
  return record?.type === 'A' ? record.data : answer.rcode;
}

async function resolves(program: Program, name: string, withinMs: number): Promise<number> {
  const startedMs = performance.now();
  for (let tries = 0; performance.now() - startedMs < withinMs; tries++) {
    const asked = `n${String(tries)}.${name}`;
    const answer = await askUdp(program.listening[0] ?? '', asked);
    if (addressIn(answer) === addressOfName(asked)) return performance.now() - startedMs;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`not within ${String(withinMs)} ms`);
}

test(
  'cold boot: no bootstrap server answers, then one does; the next boot needs none',
  { skip: missingTools('openssl') },
  async (t) => {
    const all = await certificates();
    const secure = await FakeSecureUpstream.open(t, 'tls', all.selfSigned, answerByName);
    const bootstrap = await FakeUpstream.open(t, silent);
    const folder = await tempDir(t);
    const pin = `sha256/${all.selfSigned.pin}`;
    const settings = {
      upstreams: [`tls://${SECURE_NAME}:${String(secure.port)}#pin=${pin}`],
      bootstrap: [bootstrap.endpoint],
    };
    const program = await boot(t, folder, settings);
    const startedMs = performance.now();
    const early = await askUdp(program.listening[0] ?? '', 'early.example');
    assert.equal(early.rcode, 'SERVFAIL');
    const earlyMs = performance.now() - startedMs;
    assert.ok(earlyMs < 500, `took ${String(earlyMs)} ms`);
    await bootstrap.asked(2);
    while (!/No address is known/.test(program.service.health().notices.join())) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    bootstrap.behave((query, upstream) =>
      query.type === 'A'
        ? answerAddress('127.0.0.1')(query, upstream)
        : [{ bytes: replyTo(query) }],
    );
    await resolves(program, 'up.example', 10_000);
    assert.deepEqual(program.service.health().notices, []);
    for (const { name } of bootstrap.queries) assert.equal(name.toLowerCase(), SECURE_NAME);
    const { upstreams } = await program.service.call('upstreams.list', {});
    assert.deepEqual([upstreams.length, upstreams[0]?.state], [1, 'up']);
    await program.close();
    const known = await readFile(join(folder, 'upstream-addresses.json'), 'utf8');
    assert.match(known, /127\.0\.0\.1/);

    bootstrap.behave(silent);
    const next = await boot(t, folder, settings);
    const tookMs = await resolves(next, 'again.example', 2_000);
    assert.ok(tookMs < 1_000, `took ${String(tookMs)} ms`);
  },
);
