/** The matcher against a slow oracle of strings, loops and the runtime's own expressions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { createMatchContext } from '../../main/engine/filter/match-context.ts';
import { typeNumber } from '../../main/dns/record-type.ts';
import { compileRegex } from '../../main/engine/filter/regex-engine.ts';
import { RuleSet } from '../../main/engine/filter/rule-set.ts';
import { parseList } from '../../main/lists/compile/parse-list.ts';
import { RuleSetBuilder } from '../../main/lists/compile/rule-set-builder.ts';
import { NO_SINK } from '../../main/lists/formats/rule-sink.ts';
import { viewOf } from './list-fixtures.ts';

interface Rule {
  readonly kind: 'name' | 'exact' | 'wildcard' | 'regex';
  readonly body: string;
  readonly isAllow: boolean;
  readonly isImportant: boolean;
  readonly types: readonly string[];
  readonly notTypes: readonly string[];
  readonly client: string;
  readonly tag: string;
  readonly deny: string;
}

const label = fc.constantFrom('a', 'b', 'ads', 'ads7', 'track', 'x-y', 'example', 'com', 'net');
const name = fc.array(label, { minLength: 1, maxLength: 5 }).map((labels) => labels.join('.'));
const longName = fc.array(label, { minLength: 2, maxLength: 4 }).map((labels) => labels.join('.'));
const glob = fc
  .array(fc.constantFrom('ads', '*', '.', 'track', 'x', '-y', 'exam', 'ple.', 'com'), {
    minLength: 2,
    maxLength: 4,
  })
  .map((parts) => parts.join(''))
  .filter((text) => !text.includes('..') && /^[a-z][a-z.*-]*\*[a-z.*-]*[a-z]$/.test(text));
const expression = fc.constantFrom(
  '^ads[0-9]?\\.',
  '(track|exam)ple',
  '^(a|b)\\..*com$',
  '[xy]-y',
  '(^|\\.)ads7?\\.',
  'com$',
  'a.s',
  '^ads',
);

const rule: fc.Arbitrary<Rule> = fc
  .record({
    target: fc.oneof(
      longName.map((body) => ({ kind: 'name' as const, body })),
      longName.map((body) => ({ kind: 'exact' as const, body })),
      glob.map((body) => ({ kind: 'wildcard' as const, body })),
      expression.map((body) => ({ kind: 'regex' as const, body })),
    ),
    isAllow: fc.boolean(),
    isImportant: fc.boolean(),
    types: fc.constantFrom([], [], ['A'], ['A', 'AAAA']),
    notTypes: fc.constantFrom([], [], ['MX']),
    client: fc.constantFrom('', '', '192.0.2.7', '192.0.2.0/24', 'tv'),
    tag: fc.constantFrom('', '', 'kids'),
    deny: fc.oneof(fc.constant(''), longName),
  })
  .map(({ target, ...rest }) => ({ ...target, ...rest }));

function textOf({ kind, body, ...rest }: Rule): string {
  const modifiers = [
    ...(rest.isImportant ? ['important'] : []),
    ...(rest.types.length + rest.notTypes.length > 0
      ? [`dnstype=${[...rest.types, ...rest.notTypes.map((type) => `~${type}`)].join('|')}`]
      : []),
    ...(rest.client === '' ? [] : [`client=${rest.client}`]),
    ...(rest.tag === '' ? [] : [`ctag=${rest.tag}`]),
    ...(rest.deny === '' ? [] : [`denyallow=${rest.deny}`]),
  ];
  const patterns = { name: `||${body}^`, exact: `|${body}^`, wildcard: body, regex: `/${body}/` };
  const end = modifiers.length > 0 ? `$${modifiers.join(',')}` : '';
  return (rest.isAllow ? '@@' : '') + patterns[kind] + end;
}

interface Asked {
  readonly name: string;
  readonly type: string;
  readonly client: string;
  readonly tags: readonly string[];
}

function fits({ kind, body }: Rule, asked: string): boolean {
  if (kind === 'name') return asked === body || asked.endsWith(`.${body}`);
  if (kind === 'exact') return asked === body;
  const source = body.replaceAll('.', '\\.').replaceAll('*', '.*');
  return new RegExp(kind === 'regex' ? body : source).test(asked);
}

function holds(one: Rule, { name: asked, type, client, tags }: Asked): boolean {
  const { types, notTypes, deny } = one;
  if (types.length > 0 && !types.includes(type)) return false;
  if (notTypes.includes(type)) return false;
  const isClient = { '': true, '192.0.2.7': client === '192.0.2.7', tv: client === 'tv' };
  const isIn = one.client === '192.0.2.0/24' && client.startsWith('192.0.2.');
  if (!isIn && !isClient[one.client as keyof typeof isClient]) return false;
  if (one.tag !== '' && !tags.includes(one.tag)) return false;
  return deny === '' || !(asked === deny || asked.endsWith(`.${deny}`));
}

/** Rank, list and line of the winner; zeros without one. */
function slowly(lists: readonly (readonly Rule[])[], mask: readonly number[], asked: Asked) {
  const found: { rank: number; labels: number; where: number[] }[] = [];
  for (const [index, rules] of lists.entries()) {
    for (const [line, one] of rules.entries()) {
      if (mask[index] === 0 || !fits(one, asked.name) || !holds(one, asked)) continue;
      const rank = (one.isImportant ? 3 : 1) + (one.isAllow ? 1 : 0);
      const isName = one.kind === 'name' || one.kind === 'exact';
      const labels = isName ? one.body.split('.').length : 0;
      found.push({ rank, labels, where: [index + 1, line + 1] });
    }
  }
  found.sort((left, right) => right.rank - left.rank || right.labels - left.labels);
  const [best] = found;
  return best === undefined ? [0, 0, 0, 0] : [best.rank, best.labels, ...best.where];
}

test('all kinds of rules in several lists: winner, rank, list and line agree', () => {
  const context = createMatchContext();
  const asked = fc.record({
    name,
    type: fc.constantFrom('A', 'AAAA', 'MX'),
    client: fc.constantFrom('', '192.0.2.7', '192.0.2.8', 'tv'),
    tags: fc.constantFrom([], ['kids']),
  });
  let matched = 0;
  const property = fc.property(
    fc.array(fc.array(rule, { maxLength: 12 }), { minLength: 1, maxLength: 3 }),
    fc.array(fc.constantFrom(0, 1, 1), { minLength: 3, maxLength: 3 }),
    fc.array(asked, { minLength: 1, maxLength: 15 }),
    (lists, mask, questions) => {
      const builder = new RuleSetBuilder();
      const options = { format: 'adblock', allowWide: true } as const;
      let refused = 0;
      for (const [index, rules] of lists.entries()) {
        builder.beginList(index + 1);
        const text = Buffer.from(rules.map((one) => `${textOf(one)}\n`).join(''));
        refused += parseList(new Uint8Array(text), options, builder).ignored.length;
      }
      // Too many patterns that are always tried is a refusal of its own.
      fc.pre(refused === 0);
      const set = RuleSet.open(builder.finish());
      for (const one of questions) {
        context.type = typeNumber(one.type);
        context.clientAddress.fill(0);
        const isAddress = one.client.startsWith('192');
        if (isAddress)
          context.clientAddress.set([0xff, 0xff, 192, 0, 2, Number(one.client.at(-1))], 10);
        context.clientNames = isAddress || one.client === '' ? [] : [one.client];
        context.clientTags = one.tags;
        context.listMask = Uint8Array.of(0, ...mask);
        const rank = set.match(viewOf(one.name), context);
        const expected = slowly(lists, mask, one);
        if (rank > 0) matched++;
        assert.deepEqual([rank, set.labels, set.listId, set.line], expected, JSON.stringify(one));
        const winners: number[][] = [];
        set.forEachMatch(viewOf(one.name), context, (match) => {
          if (match.won) winners.push([match.rank, match.labels, match.listId, match.line]);
        });
        assert.deepEqual(winners, rank === 0 ? [] : [expected]);
      }
    },
  );
  fc.assert(property, { numRuns: 400 });
  assert.ok(matched > 100, `${matched} of the questions met a rule`);
});

/** Expressions of every shape that the reader of required strings knows, and some it does not. */
const piece: fc.Arbitrary<string> = fc.letrec<{ piece: string; sequence: string }>((tie) => ({
  piece: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(
      'a',
      'ads',
      'AD',
      '\\.',
      '.',
      '[ab]',
      '[a-c]',
      '[^a]',
      '\\d',
      '^',
      '$',
      '7',
      '-',
    ),
    fc.constantFrom('\\bads', '[[:digit:]]', '[.-]', '\\w', '\\D', 'track', 'example'),
    tie('sequence').map((inner) => `(${inner})`),
    tie('sequence').map((inner) => `(?:${inner})`),
    fc.tuple(tie('sequence'), tie('sequence')).map(([left, right]) => `(${left}|${right})`),
    fc
      .tuple(tie('sequence'), fc.constantFrom('*', '+', '?', '{2}', '{0,1}', '{1,}', '*?', '+?'))
      .map(([inner, quantifier]) => `(${inner})${quantifier}`),
  ),
  sequence: fc.array(tie('piece'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
})).sequence;

test('filing an expression under its required bytes never loses a match', () => {
  const context = createMatchContext();
  let matched = 0;
  const property = fc.property(
    piece,
    fc.array(name, { minLength: 1, maxLength: 12 }),
    (source, names) => {
      const builder = new RuleSetBuilder();
      builder.beginList(1);
      builder.addRegex(source, 1, 1, null);
      const set = RuleSet.open(builder.finish());
      const regex = compileRegex(source);
      for (const one of names) {
        const expected = regex.test(Buffer.from(one));
        if (expected) matched++;
        assert.equal(set.match(viewOf(one), context) !== 0, expected, `${source} on ${one}`);
      }
    },
  );
  fc.assert(property, { numRuns: 800 });
  assert.ok(matched > 200, `${matched} matches`);
});

test('a pattern of any shape is answered in time that grows with the name only', () => {
  const long = `${'a'.repeat(63)}.${'a'.repeat(63)}.${'a'.repeat(63)}.${'a'.repeat(50)}b`;
  for (const line of [
    '/^(a+)+$/',
    '/(a|aa)+c/',
    '/(a*)*(a*)*(a*)*(a*)*z/',
    '/(.*a){12}x/',
    '/(.*)(.*)(.*)(.*)(.*)q/',
    'a*a*a*a*a*a*a*a*a*a*a*a*a*a*c',
    '||*a*aa*a*aaa*a*aaaa*a*x^',
  ]) {
    const builder = new RuleSetBuilder();
    builder.beginList(1);
    const options = { format: 'adblock', allowWide: true } as const;
    const report = parseList(new Uint8Array(Buffer.from(`${line}\n`)), options, builder);
    assert.equal(report.rules, 1, line);
    const set = RuleSet.open(builder.finish());
    const context = createMatchContext();
    const view = viewOf(long);
    set.match(view, context);
    const start = process.cpuUsage();
    for (let round = 0; round < 20; round++) set.match(view, context);
    const { user } = process.cpuUsage(start);
    assert.ok(user / 20 < 20_000, `${line}: ${String(user / 20)} µs`);
  }
});

test('patterns without known bytes are taken up to a bound, then refused with the reason', () => {
  const lines = Array.from({ length: 40 }, (_, index) => `/^[a-m]+[n-z]{${index + 2}}[0-9]{2}_/`);
  const bytes = new Uint8Array(Buffer.from(lines.join('\n')));
  const builder = new RuleSetBuilder();
  const { rules, ignored } = parseList(bytes, { format: 'adblock' }, builder);
  assert.equal(rules, 12);
  assert.match(ignored[0]?.reason ?? '', /without three known characters/);
  const same = Array.from({ length: 200 }, (_, index) => `/^onetwo[a-m]{${index + 1}}/`);
  const crowd = new RuleSetBuilder();
  const text = new Uint8Array(Buffer.from(same.join('\n')));
  const filed = parseList(text, { format: 'adblock' }, crowd);
  assert.ok(filed.rules < 100, `${filed.rules} are filed under the five grams of onetwo`);
  assert.equal(filed.rules + (filed.ignored[0]?.lines ?? 0), 200);
});

test('any text at all is a list that compiles', () => {
  const property = fc.property(
    fc.uint8Array({ maxLength: 300 }),
    fc.constantFrom('auto', 'adblock', 'rpz', 'regex', 'unbound', 'dnsmasq'),
    fc.boolean(),
    (bytes, format, allowWide) => {
      const builder = new RuleSetBuilder();
      const report = parseList(bytes, { format, allowWide }, builder);
      const set = RuleSet.open(builder.finish());
      assert.ok(set.verify());
      assert.equal(report.lines, parseList(bytes, { format }, NO_SINK).lines);
      set.match(viewOf('www.example.com'), createMatchContext());
    },
  );
  fc.assert(property, { numRuns: 1_000 });
});
