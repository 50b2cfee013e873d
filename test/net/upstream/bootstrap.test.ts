/**
 * The bootstrap lookup: both modes of node's LookupFunction, failures, and use by node:http.
 */
import assert from 'node:assert/strict';
import type { LookupAddress, LookupOptions } from 'node:dns';
import { once } from 'node:events';
import { createServer, get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import { test } from 'node:test';
import { createLookup } from '../../../main/net/upstream/bootstrap.ts';
import { parseServer } from '../../../main/net/server-address.ts';
import {
  answerAddress,
  answerCode,
  FakeUpstream,
  replyTo,
  silent,
} from '../../support/fake-upstream.ts';
import type { Behaviour } from '../../support/fake-upstream.ts';

const NXDOMAIN = 3;
const SERVFAIL = 2;

function lookUp(
  lookup: LookupFunction,
  name: string,
  options: LookupOptions = {},
): Promise<string | LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookup(name, options, (error, address) => {
      if (error === null) resolve(address);
      else reject(error);
    });
  });
}

function over(...servers: FakeUpstream[]): LookupFunction {
  return createLookup(servers.map(({ endpoint }) => parseServer(endpoint)));
}

/** An alias, then an address of the type asked. */
const aliased: Behaviour = (query) => {
  const alias = { name: query.name, type: 'CNAME' as const, ttl: 60, data: 'real.example' };
  const data = query.type === 'A' ? '192.0.2.7' : '2001:db8::7';
  const type = query.type as 'A' | 'AAAA';
  const answers = [alias, { name: 'real.example', type, ttl: 60, data }];
  return [{ bytes: replyTo(query, { answers }) }];
};

test('both families, in both modes, through an alias', async (t) => {
  const lookup = over(await FakeUpstream.open(t, aliased));
  assert.deepEqual(await lookUp(lookup, 'lists.example', { all: true }), [
    { address: '192.0.2.7', family: 4 },
    { address: '2001:db8:0:0:0:0:0:7', family: 6 },
  ]);
  assert.equal(await lookUp(lookup, 'lists.example'), '192.0.2.7');
  assert.equal(await lookUp(lookup, 'lists.example', { family: 6 }), '2001:db8:0:0:0:0:0:7');
});

test('literals and localhost need no server', async (t) => {
  const server = await FakeUpstream.open(t, silent);
  const lookup = over(server);
  assert.equal(await lookUp(lookup, '192.0.2.1'), '192.0.2.1');
  assert.deepEqual(await lookUp(lookup, '2001:db8::1', { all: true }), [
    { address: '2001:db8::1', family: 6 },
  ]);
  assert.equal(await lookUp(lookup, 'localhost'), '127.0.0.1');
  assert.equal(await lookUp(lookup, 'a.LOCALHOST', { family: 6 }), '::1');
  await assert.rejects(lookUp(lookup, '192.0.2.1', { family: 6 }), { code: 'ENOTFOUND' });
  assert.equal(server.queries.length, 0);
});

test('one family is enough', async (t) => {
  const server = await FakeUpstream.open(t, (query, upstream) =>
    (query.type === 'A' ? answerAddress('192.0.2.1') : answerCode(SERVFAIL))(query, upstream),
  );
  assert.equal(await lookUp(over(server), 'four.example'), '192.0.2.1');
});

test('a name that does not exist, and servers that do not answer, are told apart', async (t) => {
  const missing = await FakeUpstream.open(t, answerCode(NXDOMAIN));
  await assert.rejects(lookUp(over(missing), 'no.example'), {
    code: 'ENOTFOUND',
    hostname: 'no.example',
    syscall: 'lookup',
  });
  const closed = await FakeUpstream.open(t, silent, { udp: false });
  await assert.rejects(lookUp(over(closed), 'a.example'), { code: 'EAI_AGAIN' });
  await assert.rejects(lookUp(over(missing), `${'x'.repeat(64)}.example`), { code: 'ENOTFOUND' });
});

test('lookups beyond the bound fail instead of piling up', async (t) => {
  const lookup = over(await FakeUpstream.open(t, answerAddress('192.0.2.1')));
  const all = Array.from({ length: 100 }, (_, index) =>
    lookUp(lookup, `n${String(index)}.example`),
  );
  const results = await Promise.allSettled(all);
  assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 64);
  assert.equal(await lookUp(lookup, 'after.example'), '192.0.2.1');
});

test('node:http connects through it', async (t) => {
  const web = createServer((request, response) => response.end(request.headers.host));
  web.listen(0, '127.0.0.1');
  await once(web, 'listening');
  t.after(() => web.close());
  const lookup = over(await FakeUpstream.open(t, answerAddress('127.0.0.1')));
  const { port } = web.address() as AddressInfo;
  const request = get({ host: 'lists.example', port, lookup, agent: false });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  const [body] = (await once(response.setEncoding('utf8'), 'data')) as [string];
  assert.equal(body, `lists.example:${String(port)}`);
});
