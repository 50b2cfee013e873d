/** The whole program: `check` asks nobody until told to, and temporary rules act at once. */
import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { compose } from '../../main/app/program.ts';
import { askUdp } from '../support/dns-client.ts';
import { addressOfName, answerByName, FakeUpstream } from '../support/fake-upstream.ts';

/** The bound of the filter: a user's rule takes effect within. */
const RULE_MS_MAX = 50;

async function boot(t: TestContext) {
  const upstream = await FakeUpstream.open(t, answerByName);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  const dns = { listen: ['127.0.0.1:0'], upstreams: [upstream.endpoint] };
  await writeFile(join(folder, 'sluice.yaml'), `dns: ${JSON.stringify(dns)}\nlists: []\n`);
  let program = await compose({ dataDirectory: folder });
  t.after(async () => {
    await program.close();
    await rm(folder, { recursive: true });
  });
  const restart = async () => {
    await program.close();
    program = await compose({ dataDirectory: folder });
    return program;
  };
  return { upstream, program, restart };
}

test('check sends nothing; with resolve one query, whose answer it then finds kept', async (t) => {
  const { upstream, program } = await boot(t);
  const { service } = program;
  const before = await service.call('check', { name: 'www.example' });
  assert.deepEqual([before.decision, before.cache.state], ['allowed', 'none']);
  assert.equal(upstream.queries.length, 0);
  const { resolved, cache } = await service.call('check', {
    ...{ name: 'www.example', client: '127.0.0.9', resolve: true },
  });
  assert.equal(upstream.queries.length, 1);
  assert.ok(resolved);
  assert.deepEqual([resolved.outcome, resolved.rcode], ['forwarded', 'NOERROR']);
  assert.equal(resolved.upstream, upstream.endpoint);
  assert.match(resolved.records[0] ?? '', new RegExp(` A ${addressOfName('www.example')}$`));
  assert.equal(cache.state, 'fresh');
  const again = await service.call('check', { name: 'www.example' });
  assert.match(again.answer.text, /^the kept answer, /);
  assert.equal(upstream.queries.length, 1);
  const refused = await service.call('check', {
    ...{ name: 'other.example', client: '203.0.113.9', resolve: true },
  });
  assert.equal(refused.resolved?.rcode, '', 'a client that may not ask gets no answer');
});

test('a temporary rule acts at once, over a restart, and until it is removed', async (t) => {
  const { program, restart } = await boot(t);
  const ask = async (at: string | undefined): Promise<string> => {
    const answer = await askUdp(at ?? '', 'www.example');
    const [record] = answer.answers ?? [];
    return record?.type === 'A' ? record.data : answer.rcode;
  };
  const at = program.listening[0];
  assert.equal(await ask(at), addressOfName('www.example'));
  const rule = '||www.example^';
  const took: number[] = [];
  for (let round = 0; round < 5; round++) {
    const startMs = performance.now();
    const adding = program.service.call('rules.add', { rule, minutes: 10 });
    while ((await ask(at)) !== '0.0.0.0');
    took.push(performance.now() - startMs);
    await adding;
    if (round < 4) await program.service.call('rules.remove', { rule });
  }
  const [quickest = Infinity] = took.sort((left, right) => left - right);
  assert.ok(quickest < RULE_MS_MAX, `it took ${quickest.toFixed(1)} ms at best`);
  const second = await restart();
  assert.equal(await ask(second.listening[0]), '0.0.0.0');
  await second.service.call('rules.remove', { rule });
  assert.equal(await ask(second.listening[0]), addressOfName('www.example'));
});
