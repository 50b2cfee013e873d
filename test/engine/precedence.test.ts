/**
 * Who decides, over all layers: random rules, policies, services and lists for random clients,
 * compared with a slow reading of the precedence table that shares no code with the engine.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { question } from '../support/dns-wire.ts';
import { EngineHarness, FakeClient, table } from '../support/engine-fakes.ts';
import { filtersOf, type Settings } from '../support/filters.ts';

const label = fc.constantFrom('a', 'b', 'c');
const suffix = fc.constantFrom('x.example', 'a.x.example', 'b.a.x.example', 'y.example');
const name = fc
  .tuple(fc.array(label, { maxLength: 2 }), suffix)
  .map(([labels, end]) => [...labels, end].join('.'));
const NETWORKS = ['10.0.0.0/8', '10.1.0.0/16', '10.1.2.3', '10.9.0.0/16'];

const policy = fc.record({
  action: fc.constantFrom('allow' as const, 'block' as const),
  priority: fc.constantFrom(50, 100, 200),
  enabled: fc.boolean(),
  domains: fc.array(fc.tuple(fc.boolean(), name), { minLength: 1, maxLength: 3 }),
  regex: fc.subarray(['^b\\.', 'a\\.x', 'y']),
  clients: fc.subarray(['10.0.0.0/8', '10.1.0.0/16', '10.1.2.3', 'one', 'kids']),
});
const rule = fc.tuple(fc.boolean(), name);
const world = fc.record({
  policies: fc.array(policy, { maxLength: 5 }),
  rules: fc.array(rule, { maxLength: 3 }),
  groupRules: fc.array(rule, { maxLength: 2 }),
  listed: fc.array(name, { maxLength: 3 }),
  id: fc.constantFrom(...NETWORKS),
  client: fc.constantFrom([10, 1, 2, 3], [10, 1, 9, 9], [10, 9, 9, 9], [192, 168, 0, 1]),
  asked: name,
});
type World = typeof world extends fc.Arbitrary<infer Value> ? Value : never;

const isBelow = (child: string, parent: string): boolean =>
  child === parent || child.endsWith(`.${parent}`);

function isIn(client: readonly number[], network: string): boolean {
  const [address = '', bits = '32'] = network.split('/');
  const count = Number(bits) / 8;
  return address
    .split('.')
    .slice(0, count)
    .every((part, index) => Number(part) === client[index]);
}

/** 'allow', 'block', or nothing said. */
function byRules(rules: World['rules'], asked: string): string {
  const fitting = rules.filter(([, listed]) => isBelow(asked, listed));
  if (fitting.some(([allows]) => allows)) return 'allow';
  return fitting.length > 0 ? 'block' : '';
}

function byPolicies({ policies, asked, client, id }: World): string {
  const isOne = isIn(client, id);
  const fitting = policies.filter(({ enabled, domains, regex, clients }) => {
    const names = domains.some(([below, listed]) =>
      below ? asked.endsWith(`.${listed}`) : isBelow(asked, listed),
    );
    const isNamed = names || regex.some((text) => new RegExp(text).test(asked));
    const isFor =
      clients.length === 0 ||
      clients.some((text) => (text === 'one' || text === 'kids' ? isOne : isIn(client, text)));
    return enabled && isNamed && isFor;
  });
  const highest = Math.max(...fitting.map(({ priority }) => priority));
  const first = fitting.filter(({ priority }) => priority === highest);
  if (first.some(({ action }) => action === 'allow')) return 'allow';
  return first.length > 0 ? 'block' : '';
}

function oracle(one: World): string {
  const isOne = isIn(one.client, one.id);
  const own = isOne ? byRules(one.groupRules, one.asked) : '';
  const byList = one.listed.some((listed) => isBelow(one.asked, listed)) ? 'block' : 'allow';
  return own || byRules(one.rules, one.asked) || byPolicies(one) || byList;
}

async function real(one: World): Promise<string> {
  const toText = ([allows, listed]: readonly [boolean, string]): string =>
    `${allows ? '@@' : ''}||${listed}^`;
  const settings: Settings = {
    rules: one.rules.map(toText),
    groups: [{ name: 'kids', rules: one.groupRules.map(toText) }],
    clients: [{ name: 'one', ids: [one.id], group: 'kids' }],
    policies: one.policies.map((made, index) => ({
      ...made,
      name: `p${String(index)}`,
      domains: made.domains.map(([below, listed]) => `${below ? '*.' : ''}${listed}`),
    })),
  };
  const engine = new EngineHarness({ ...(await filtersOf(settings)), lists: table(one.listed) });
  engine.send(question(one.asked, 'A'), new FakeClient(...one.client));
  return engine.exchange.count === 0 ? 'block' : 'allow';
}

test('the engine decides as the precedence table says', async () => {
  await fc.assert(
    fc.asyncProperty(world, async (one) => {
      assert.equal(await real(one), oracle(one));
    }),
    { numRuns: 400 },
  );
});
