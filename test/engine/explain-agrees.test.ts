/**
 * What is explained and what is answered cannot differ: random rules, lists, policies and clients,
 * a running engine on one side, `explain` over the same policy message on the other. The winner
 * that is told has to be the rule that the log names, and the only one that counts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { configSchema, type Config } from '../../main/contract/config.ts';
import { OUTCOMES, REASONS } from '../../main/contract/outcome.ts';
import { openPolicy } from '../../main/dataplane/open-policy.ts';
import { explain } from '../../main/engine/explain/explain.ts';
import { LIST_ID_NONE } from '../../main/engine/filter/engine-config.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';
import { parseAddress } from '../../main/net/listen/client-address.ts';
import { nameMatches } from '../../main/control/check/check-matches.ts';
import { whySentence } from '../../main/control/check/check-why.ts';
import { Filters } from '../../main/control/policy/filters.ts';
import { buildPolicy } from '../../main/control/policy/policy-builder.ts';
import { question, replyTo } from '../support/dns-wire.ts';
import { EngineHarness, FakeClient } from '../support/engine-fakes.ts';

const SUFFIXES = ['a.example', 'b.a.example', 'c.b.a.example', 'd.example', 'www.msftncsi.com'];
const NAMES = [...SUFFIXES, 'x.c.b.a.example', 'x.d.example', 'localhost', 'free.example'];
const ADDRESSES = ['192.0.2.1', '192.0.2.2', '198.51.100.9'];

const suffix = fc.constantFrom(...SUFFIXES);
const rule = fc
  .tuple(
    fc.constantFrom('', '@@'),
    suffix,
    fc.subarray(['important', 'dnstype=AAAA', 'client=192.0.2.1', 'dnsrewrite=192.0.2.200']),
  )
  .map(
    ([exception, name, modifiers]) =>
      `${exception}||${name}^${modifiers.length === 0 ? '' : `$${modifiers.join()}`}`,
  );
const pattern = fc.constantFrom('*.a.example', '/^c\\./', '@@/^x\\./', '||*.d.example^');
const rules = fc.array(fc.oneof(rule, pattern), { maxLength: 5 });

const policies = fc.uniqueArray(
  fc.record({
    name: fc.constantFrom('p', 'q', 'r'),
    enabled: fc.boolean(),
    action: fc.constantFrom('allow' as const, 'block' as const, 'redirect' as const),
    priority: fc.constantFrom(50, 100),
    domains: fc.array(
      fc.oneof(
        suffix,
        suffix.map((name) => `*.${name}`),
      ),
      { maxLength: 3 },
    ),
    clients: fc.subarray(['one', 'kids', '198.51.100.0/24'], { maxLength: 1 }),
    redirect: fc.constantFrom(
      { addresses: ['192.0.2.100'], name: '' },
      { addresses: [], name: 'x.d.example' },
    ),
  }),
  { maxLength: 3, selector: ({ name }) => name },
);

const world = fc.record({
  rules,
  temporary: rules,
  lists: rules,
  groupRules: rules,
  policies,
  filtering: fc.boolean(),
  groupFiltering: fc.boolean(),
});

function configOf(made: typeof world extends fc.Arbitrary<infer World> ? World : never): Config {
  const { policies: list, groupRules, groupFiltering } = made;
  return configSchema.parse({
    rules: made.rules,
    policies: list.map(({ redirect, ...policy }) => ({
      ...policy,
      ...(policy.action === 'redirect' && { redirect }),
    })),
    clients: [
      { name: 'one', ids: ['192.0.2.1'] },
      { name: 'two', ids: ['192.0.2.2'], group: 'kids' },
    ],
    groups: [{ name: 'kids', rules: groupRules, filtering: groupFiltering }],
  });
}

function namingOf(config: Config): Parameters<typeof nameMatches>[1] {
  const lists = { listNames: new Map<number, string>(), ruleText: () => '' };
  const names = new Map<number, string>();
  return { ...{ config, lists, names, priorityRules: [], group: config.groups[0], nowMs: 0 } };
}

test('explain and Engine.handle decide alike, and name the same rule', () => {
  const property = fc.property(
    world,
    fc.constantFrom(...NAMES),
    fc.constantFrom('A', 'AAAA'),
    fc.constantFrom(...ADDRESSES),
    (made, name, type, address) => {
      const config = configOf(made);
      const message = buildPolicy({
        version: 1,
        instance: 'feed',
        filtering: made.filtering,
        config,
        rules: compileRules(config.rules),
        temporary: made.temporary.map((text) => ({ rule: text, endsAtMs: 1 })),
        lists: compileRules(made.lists),
        filters: new Filters().build(config, {
          ...{ listNames: new Map(), nowMs: 0, neighbours: new Map() },
        }),
      });
      const client = new FakeClient();
      parseAddress(address, client.address);
      const harness = new EngineHarness();
      harness.engine.setPolicy(openPolicy(message));
      if (harness.send(question(name, type), client) === 'later') {
        harness.exchange.answer((query) => replyTo(query));
      }
      const logged = harness.sink.last;
      const found = explain({
        ...{ config: openPolicy(message), name, type, address: client.address },
      });
      const { now } = found;
      assert.deepEqual(
        [OUTCOMES[now.outcome], REASONS[now.reason], now.rcode, now.listId, now.matchedLabels],
        [logged.outcome, logged.reason, logged.rcode, logged.listId, logged.matchedLabels],
      );
      const told = whySentence({
        ...{ found, group: 'kids', filtering: made.filtering, further: undefined, nowMs: 0 },
        ...{ addressList: '', matches: nameMatches(found.matches, namingOf(config)) },
      });
      if (found.decision === 'allowed') {
        assert.match(told, / is allowed because /);
        if (found.isOn) assert.doesNotMatch(told, /something else|is blocked/);
      }
      const winners = found.matches.filter(({ won }) => won);
      assert.ok(winners.length <= 1 && winners.every(({ applies }) => applies));
      const [winner] = winners;
      if (found.decision === 'blocked') assert.equal(winner?.action === 'allow', false);
      if (logged.listId !== LIST_ID_NONE && found.isOn) assert.equal(winner?.listId, logged.listId);
      const isCounted = found.matches.some(({ applies }) => applies);
      const isOwn = found.decision === 'local' || REASONS[found.filtered.reason] === 'special-name';
      if (!isOwn && isCounted) assert.ok(winner);
    },
  );
  fc.assert(property, { numRuns: 400 });
});
