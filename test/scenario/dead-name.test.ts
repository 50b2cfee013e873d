/** A name that the upstream leaves unanswered, and then a page of good names at once. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exchangeUdp } from '../support/dns-client.ts';
import { header, question } from '../support/dns-wire.ts';
import { answerByName, delayed } from '../support/fake-upstream.ts';
import { Gateway } from '../support/gateway.ts';

test('a dead name, A and AAAA at once, leaves the other names what they are', async (t) => {
  const good = delayed(200, answerByName);
  const gateway = await Gateway.open(t, (query, upstream) =>
    /\.dead\.example$/i.test(query.name) ? [] : good(query, upstream),
  );
  const askPatiently = (name: string, type = 'A'): Promise<Buffer> =>
    exchangeUdp(gateway.udp, question(name, type), 30_000);
  const page = async (letter: string): Promise<void> => {
    const names = Array.from({ length: 30 }, (_, at) => `${letter}${String(at)}.example`);
    const answers = await Promise.all(names.map((name) => askPatiently(name)));
    assert.deepEqual(new Set(answers.map((bytes) => header(bytes).rcode)), new Set([0]));
  };
  await page('a');
  const dead = await Promise.all(
    ['A', 'AAAA'].map((type) => askPatiently('www.dead.example', type)),
  );
  for (const bytes of dead) assert.equal(header(bytes).rcode, 2);
  await page('b');
  await page('c');
});
