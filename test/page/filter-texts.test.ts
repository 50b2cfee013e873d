/** The plain functions behind Lists, Policies, Clients and Backup. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { describeTaken } from '../../renderer/backup/import-text.ts';
import { CallError } from '../../renderer/client/call-error.ts';
import { toFieldError } from '../../renderer/client/field-error.ts';
import { clientOf, describeGroup } from '../../renderer/clients/client-text.ts';
import { splitLines, splitWords } from '../../renderer/format/lines.ts';
import { findKnown } from '../../renderer/lists/catalogue-text.ts';
import {
  describeChange,
  describeReplay,
  describeUse,
  healthOf,
} from '../../renderer/lists/list-text.ts';
import {
  describeDays,
  describeSome,
  describeWhen,
  inOrder,
  weekdays,
} from '../../renderer/policies/policy-text.ts';
import { engines, groupServices, switchEngine } from '../../renderer/services/service-text.ts';
import { FakeFilters } from './fake-filters.ts';
import { fakeCatalogue, fakeLists } from './fake-lists.ts';

test('an error of the service is split into its field and a sentence', () => {
  const of = (message: string) => toFieldError(new CallError('ARGUMENT_INVALID', message));
  assert.deepEqual(of('policy.domains[3]: "a b" is not allowed'), {
    field: 'domains',
    text: '"a b" is not allowed.',
  });
  assert.equal(of('policies[12].schedule.to: same: no').field, 'schedule.to');
  assert.equal(of('policies[12].schedule.to: same: no').text, 'Same: no.');
  assert.deepEqual(of('policies[0]: a policy needs domains or a regex'), {
    field: '',
    text: 'A policy needs domains or a regex.',
  });
  assert.deepEqual(of('nothing of that form'), { field: '', text: 'Nothing of that form.' });
  const other = new CallError('INTERNAL', 'policy.domains[0]: broken');
  assert.equal(toFieldError(other).field, '');
});

test('what is typed is split into words and lines', () => {
  assert.deepEqual(splitWords(' a.example, b.example\n\nc.example;d '), [
    ...['a.example', 'b.example', 'c.example', 'd'],
  ]);
  assert.deepEqual(splitLines('||a^\n\n  @@||b c^ \n'), ['||a^', '@@||b c^']);
  assert.deepEqual([...splitWords(' \n'), ...splitLines(' \n')], []);
});

describe('lists', () => {
  const [well, waiting, failed, off] = fakeLists(0);
  assert.ok(well && waiting && failed && off);

  test('their health is told in words, what waits for a person first', () => {
    assert.deepEqual(
      [well, waiting, failed, off].map((list) => healthOf(list).state),
      ['ok', 'review', 'failed', 'disabled'],
    );
    assert.equal(healthOf({ ...waiting, state: 'updating' }).state, 'updating');
  });

  test('a change says what came and went, and what it did to names in use', () => {
    assert.ok(well.change);
    assert.equal(describeChange(well.change), '+1,204 / −88 domains');
    assert.equal(describeChange({ ...well.change, added: null }), '');
    assert.equal(
      describeReplay(well.change.replay),
      'Newly blocks 2 names you used: beacon.shop.example, stats.news.example. ' +
        'No longer blocks 1 name you used: login.bank.example.',
    );
    const many = { ...well.change.replay, newlyBlocked: 14, newlyAllowed: 0 };
    assert.match(describeReplay({ ...well.change.replay, ...many } as never), /14 .* …$/);
    assert.equal(describeReplay(null), '');
  });

  test('what is set otherwise than usual is told', () => {
    const source = { name: 'x', url: 'https://x.example', format: 'auto', enabled: true } as const;
    assert.equal(describeUse(source), '');
    assert.equal(describeUse(undefined), '');
    assert.equal(
      describeUse({ ...source, action: 'allow', match: 'exact' }),
      'allows its domains, exact names only',
    );
  });

  test('the catalogue is found by category, name, maintainer and purpose', () => {
    const entries = fakeCatalogue().map((entry) => ({ ...entry, added: '' }));
    const ids = (category: Parameters<typeof findKnown>[1], text: string) =>
      findKnown(entries, category, text).flatMap((group) => group.entries.map(({ id }) => id));
    assert.deepEqual(ids('', ''), ['steven', 'light', 'tv', 'threat', 'dice']);
    assert.deepEqual(ids('general', ' ADS '), ['steven', 'light']);
    assert.deepEqual(ids('malware', 'casino'), []);
  });
});

describe('policies', () => {
  test('days are told as runs', () => {
    assert.equal(describeDays([...weekdays]), 'Every day');
    assert.equal(describeDays(['sat', 'sun']), 'Sat, Sun');
    assert.equal(describeDays(['sun', 'mon', 'tue', 'wed', 'fri']), 'Mon–Wed, Fri, Sun');
    fc.assert(
      fc.property(fc.subarray([...weekdays], { minLength: 1 }), (days) => {
        const shuffled = [...days].reverse();
        assert.equal(describeDays(days), describeDays(shuffled));
      }),
    );
  });

  test('a whole day needs no hours, and a zone is named', () => {
    const [policy] = new FakeFilters().policies;
    assert.ok(policy?.schedule);
    const at = (change: object) =>
      describeWhen({ ...policy, schedule: { ...policy.schedule, ...change } as never });
    assert.deepEqual(at({ from: '00:00', to: '00:00', timeZone: 'Asia/Tokyo' }), [
      'Mon–Thu, Sun',
      'Asia/Tokyo',
    ]);
    assert.equal(describeSome(['a', 'b', 'c', 'd'], 2), 'a, b and 2 more');
  });

  test('they stand in the order in which they decide', () => {
    const [base] = new FakeFilters().policies;
    assert.ok(base);
    const policy = (name: string, priority: number, action: 'block' | 'allow' | 'redirect') => {
      return { ...base, name, priority, action };
    };
    const sorted = inOrder([
      policy('c', 100, 'block'),
      policy('b', 100, 'redirect'),
      policy('a', 100, 'allow'),
      policy('first', 900, 'block'),
    ]);
    assert.deepEqual(
      sorted.map(({ name }) => name),
      ['first', 'a', 'b', 'c'],
    );
  });
});

describe('services', () => {
  test('switching an engine switches safe search with it', () => {
    const off = { enabled: false, engines: [...engines], youtube: 'strict' } as const;
    const one = switchEngine({ ...off, engines: [...off.engines] }, 'bing', true);
    assert.deepEqual(one, { enabled: true, engines: ['bing'], youtube: 'strict' });
    const two = switchEngine(one, 'google', true);
    assert.deepEqual(two.engines, ['google', 'bing']);
    const none = switchEngine(one, 'bing', false);
    assert.deepEqual(none, { enabled: false, engines: [...engines], youtube: 'strict' });
  });

  test('they are found by title and domain, in their categories', () => {
    const { catalogue } = new FakeFilters().services;
    assert.deepEqual(
      groupServices(catalogue, '').map(({ label }) => label),
      ['Social media', 'Messages and calls', 'Video', 'Games'],
    );
    const [group, ...others] = groupServices(catalogue, 'STEAMcdn');
    assert.deepEqual([group?.services.map(({ id }) => id), others], [['steam'], []]);
  });
});

describe('clients', () => {
  const client = (name: string, ...ids: string[]) => ({ name, ids, tags: [], group: '' });

  test('an address belongs to the client of the narrowest network', () => {
    const clients = [
      client('lan', '192.168.0.0/16', 'fd00::/8'),
      client('desk', '192.168.4.7', 'fd00:0:0:0::7'),
      client('mac', '02:00:5e:10:00:01'),
    ];
    const owner = (address: string) => clientOf(address, clients)?.name;
    assert.deepEqual(
      ['192.168.4.7', '192.168.4.8', 'fd00::7', 'fdff::1', '10.0.0.1', 'fe80::1', 'odd'].map(owner),
      ['desk', 'lan', 'desk', 'lan', undefined, undefined, undefined],
    );
  });

  test('every address belongs to a network cut out of it', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 0, max: 32 }), (address, length) => {
        const found = clientOf(address, [client('x', `${address}/${String(length)}`)]);
        assert.equal(found?.name, 'x');
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), (address) => {
        // The window meets no IPv6 address that ends in the dotted form.
        fc.pre(!address.includes('.'));
        assert.equal(clientOf(address, [client('x', address)])?.name, 'x');
      }),
    );
  });

  test('a group says what is other than for everybody', () => {
    const group = { name: 'x', rules: [], services: [], filtering: true };
    assert.deepEqual(describeGroup(group), ['all lists']);
    assert.deepEqual(describeGroup({ ...group, filtering: false }), ['filtering off']);
    assert.deepEqual(describeGroup({ ...group, lists: [], rules: ['||a^'], safeSearch: false }), [
      'no lists',
      '1 group rule',
      'no safe search',
    ]);
  });
});

test('an import says what is new and what is known', () => {
  const taken = { section: 'lists', count: 0, known: 4, replaced: 0, examples: [] } as const;
  assert.equal(describeTaken({ ...taken, examples: [] }), '4 already here');
  assert.equal(
    describeTaken({ ...taken, examples: [], count: 1_200 }),
    '1,200 new, 4 already here',
  );
  assert.equal(
    describeTaken({ section: 'upstreams', count: 1, known: 0, replaced: 4, examples: [] }),
    '1 new, replaces 4 current servers',
  );
});
