/**
 * The real program with policies, a client, safe search and local records; a real unbound as its
 * upstream and dig as the client: what a plain stub resolver gets.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dig } from '../support/dig.ts';
import { makeFolder, startSluice } from '../support/running-program.ts';
import { missingTools } from '../support/tools.ts';
import { startUnbound } from '../support/unbound.ts';

const RECORDS = [
  'www.site.example. 300 IN A 192.0.2.10',
  'www.site.example. 300 IN AAAA 2001:db8::10',
  'strict.bing.com. 300 IN A 192.0.2.20',
  'www.bing.com. 300 IN A 192.0.2.21',
  'games.example. 300 IN A 192.0.2.30',
];

test(
  'policies, safe search and local records, with unbound and dig',
  { skip: missingTools('dig', 'unbound'), timeout: 120_000 },
  async (t) => {
    const unbound = await startUnbound(RECORDS);
    t.after(() => unbound.stop());
    const redirect = { name: 'www.site.example' };
    const sluice = await startSluice(await makeFolder(t), {
      dns: { listen: ['127.0.0.1:0'], upstreams: [`127.0.0.1:${String(unbound.port)}`] },
      lists: [],
      policies: [
        { name: 'r', action: 'redirect', domains: ['old.example'], redirect },
        { name: 'one', action: 'block', domains: ['games.example'], clients: ['here'] },
        { name: 'two', action: 'block', domains: ['www.site.example'], clients: ['10.0.0.0/8'] },
      ],
      clients: [{ name: 'here', ids: ['127.0.0.0/8'] }],
      safeSearch: { enabled: true, engines: ['bing'] },
      records: [
        { name: 'nas.example', type: 'A', value: '192.168.1.10' },
        { name: 'web.example', type: 'CNAME', value: 'www.site.example' },
      ],
      http: { listen: '127.0.0.1:0' },
    });
    t.after(() => sluice.stop());
    const ask = async (...argv: string[]) => (await dig(sluice.dnsPort, ...argv)).answers;

    assert.deepEqual(await ask('old.example', 'A'), ['CNAME www.site.example.', 'A 192.0.2.10']);
    assert.deepEqual(await ask('a.old.example', 'AAAA', '+tcp'), [
      'CNAME www.site.example.',
      'AAAA 2001:db8::10',
    ]);
    assert.deepEqual(await ask('web.example', 'A'), ['CNAME www.site.example.', 'A 192.0.2.10']);
    assert.deepEqual(await ask('www.bing.com', 'A'), ['CNAME strict.bing.com.', 'A 192.0.2.20']);
    assert.deepEqual(await ask('www.bing.com', 'TYPE65'), []);
    assert.deepEqual(await ask('games.example', 'A'), ['A 0.0.0.0']);
    assert.deepEqual(await ask('www.site.example', 'A'), ['A 192.0.2.10']);
    const nas = await dig(sluice.dnsPort, 'nas.example', 'A');
    assert.deepEqual([nas.answers, nas.flags.includes('aa')], [['A 192.168.1.10'], true]);
    assert.deepEqual(await ask('-x', '192.168.1.10'), ['PTR nas.example.']);
  },
);
