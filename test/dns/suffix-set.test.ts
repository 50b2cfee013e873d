/**
 * Suffixes with upstreams of their own: which names they cover, and that special names below them
 * are asked upstream while all others stay local.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { explain } from '../../main/engine/explain/explain.ts';
import { Query } from '../../main/engine/query/query.ts';
import { SuffixSet } from '../../main/dns/suffix-set.ts';
import { question } from '../support/dns-client.ts';
import { policy } from '../support/engine-fakes.ts';

function labelsMatched(set: SuffixSet, name: string): number {
  const query = new Query();
  const packet = question(name, 'A');
  query.read(packet, 0, packet.length);
  return set.match(query);
}

test('the longest suffix covers a name, whole labels only, in any letter case', () => {
  const set = new SuffixSet(['corp.example', 'lab.corp.example.', 'Local']);
  const expected: Record<string, number> = {
    'corp.example': 2,
    'www.CORP.example': 2,
    'a.lab.corp.example': 3,
    'xcorp.example': 0,
    example: 0,
    'printer.local': 1,
    'corp.example.net': 0,
  };
  for (const [name, labels] of Object.entries(expected)) {
    assert.equal(labelsMatched(set, name), labels, name);
  }
  assert.equal(labelsMatched(new SuffixSet([]), 'a.example'), 0);
});

test('it agrees with comparing texts', () => {
  const label = fc.constantFrom('a', 'b', 'c', 'corp');
  const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'));
  fc.assert(
    fc.property(fc.array(name, { maxLength: 6 }), name, (suffixes, asked) => {
      const longest = suffixes
        .filter((suffix) => asked === suffix || asked.endsWith(`.${suffix}`))
        .map((suffix) => suffix.split('.').length);
      assert.equal(labelsMatched(new SuffixSet(suffixes), asked), Math.max(0, ...longest));
    }),
  );
});

test('what is no name is refused', () => {
  for (const suffix of ['', '.', 'a..b', `${'x'.repeat(64)}.example`]) {
    assert.throws(() => new SuffixSet([suffix]), /not a domain name/);
  }
});

test('a special name below such a suffix is no longer local', () => {
  const suffixes = new SuffixSet(['168.192.in-addr.arpa', 'home.arpa']);
  const address = new Uint8Array(16);
  const decision = (name: string): string =>
    explain({ config: policy({ suffixes }), name, type: 'PTR', address }).decision;
  assert.equal(decision('1.1.168.192.in-addr.arpa'), 'allowed');
  assert.equal(decision('nas.home.arpa'), 'allowed');
  assert.equal(decision('1.0.0.10.in-addr.arpa'), 'local');
  const local = explain({ config: policy(), name: 'nas.home.arpa', type: 'A', address });
  assert.equal(local.decision, 'local');
});
