/**
 * Lists of random rules against the programs that the syntaxes come from: unbound for response policy
 * zones and its own zones, dnsmasq for its settings. OWNER_GROUPS=2000 makes it a long run,
 * OWNER_SEED=7 another one. Differences that are meant are counted by their reason, and stand in
 * docs/filtering.md.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { createMatchContext } from '../../main/engine/filter/match-context.ts';
import { RULE_ALLOW, RULE_NONE, type RuleSet } from '../../main/engine/filter/rule-set.ts';
import { readAddress } from '../../main/lists/formats/address-bytes.ts';
import { REASONS, LINE_RESULT } from '../../main/lists/formats/line-result.ts';
import { askAll, startOwner, type Dialect } from '../support/rule-owner.ts';
import { missingTools } from '../support/tools.ts';
import { parse, viewOf } from './list-fixtures.ts';

const GROUPS = Number(process.env['OWNER_GROUPS'] ?? 60);
const SEED = Number(process.env['OWNER_SEED'] ?? 1);
const QUESTIONS_PER_GROUP = 10;
const context = createMatchContext();

/** The same numbers from the same seed (mulberry32). */
class Dice {
  #state: number;

  constructor(seed: number) {
    this.#state = seed;
  }

  below(limit: number): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit;
  }

  one<Value>(values: readonly Value[]): Value {
    return values[this.below(values.length)] as Value;
  }

  /** A name of up to `depth` labels below a group's own. */
  name(group: number, depth: number): string {
    const labels = Array.from({ length: this.below(depth + 1) }, () => this.one(['a', 'b', 'c']));
    return [...labels, `g${String(group)}`, 'example'].join('.');
  }
}

/** Rules of every group, each of another name, and questions around them. */
function roll(make: (dice: Dice, name: string, group: number) => string) {
  const dice = new Dice(SEED);
  const lines: string[] = [];
  const names = new Set<string>();
  for (let group = 0; group < GROUPS; group++) {
    const count = 1 + dice.below(6);
    const owners = new Set(Array.from({ length: count }, () => dice.name(group, 3)));
    for (const name of owners) lines.push(make(dice, name, group));
    for (let question = 0; question < QUESTIONS_PER_GROUP; question++) {
      names.add(dice.name(group, 4));
    }
  }
  return { lines, names: [...names] };
}

/** What Sluice says, in the owner's words. */
function ours(rules: RuleSet, name: string): string {
  const rank = rules.match(viewOf(name), context);
  return textOf(rules, rank === RULE_NONE || rank === RULE_ALLOW);
}

function textOf({ rewrite }: RuleSet, isOpen: boolean): string {
  if (isOpen) return 'pass';
  if (rewrite === null) return 'block';
  if (rewrite.rcode === 5) return 'refused';
  const a = rewrite.records.find(({ type }) => type === 1);
  return a === undefined ? 'nodata' : `A ${[...a.rdata].join('.')}`;
}

/** Differences between the owner and us; each question is also an answer of a kind. */
async function compare(
  t: TestContext,
  dialect: Dialect,
  lines: readonly string[],
  names: readonly string[],
): Promise<{ different: string[]; kinds: Map<string, number> }> {
  const { report, rules } = parse(`${lines.join('\n')}\n`, dialect, { allowWide: true });
  const ignored = report.ignored.filter(({ reason }) => reason !== REASONS[LINE_RESULT.hidden]);
  assert.deepEqual(ignored, []);
  const answers = await askAll(await startOwner(t, dialect, lines), names);
  const kinds = new Map<string, number>();
  const different: string[] = [];
  for (const [index, name] of names.entries()) {
    const theirs = answers[index] ?? '';
    const kind = theirs.slice(0, 5);
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const own = ours(rules, name);
    if (own !== theirs) different.push(`${name}: ${dialect} ${theirs}, ours ${own}`);
  }
  t.diagnostic(`${String(names.length)} questions: ${[...kinds].join(' ')}`);
  return { different, kinds };
}

function wildcardsAside(name: string, dice: Dice): string {
  return dice.below(3) === 0 ? `*.${name}` : name;
}

const RPZ_ACTIONS = [
  'CNAME .',
  'CNAME .',
  'CNAME *.',
  'CNAME rpz-passthru.',
  'A 192.0.2.1',
  'A 127.0.0.1',
];
const RPZ_HEAD = [
  '$TTL 2h',
  '$ORIGIN rpz.test.',
  '@ IN SOA localhost. root.localhost. 1 1h 15m 30d 2h',
  '@ IN NS localhost.',
];

test(
  'response policy zones say what unbound says',
  { skip: missingTools('unbound') },
  async (t) => {
    const { lines, names } = roll(
      (dice, name) => `${wildcardsAside(name, dice)} ${dice.one(RPZ_ACTIONS)}`,
    );
    const { different } = await compare(t, 'rpz', [...RPZ_HEAD, ...new Set(lines)], names);
    const zone = new SlowZone(lines);
    const { rules } = parse(`${[...RPZ_HEAD, ...lines].join('\n')}\n`, 'rpz', { allowWide: true });
    for (const name of names) assert.equal(ours(rules, name), zone.answer(name), name);
    const unexplained = different.filter((text) => !zone.isBehindEmpty(text.split(':')[0] ?? ''));
    t.diagnostic(`${String(different.length)} differences behind empty non-terminals`);
    assert.deepEqual(unexplained, []);
    assert.ok(different.length < names.length / 20);
  },
);

/** RFC 4592 by the book, with strings. */
class SlowZone {
  readonly #actions = new Map<string, string>();
  readonly #nodes = new Set<string>();

  constructor(lines: readonly string[]) {
    for (const line of lines) {
      const owner = line.split(' ', 1)[0] ?? '';
      this.#actions.set(owner, line.slice(owner.length + 1));
      for (let node = owner; node !== ''; node = parentOf(node)) this.#nodes.add(node);
    }
  }

  answer(name: string): string {
    const action = this.#actions.get(name) ?? this.#actions.get(`*.${this.#encloser(name)}`) ?? '';
    if (action === '' || action.includes('passthru')) return 'pass';
    if (action.includes('*')) return 'nodata';
    return action === 'A 192.0.2.1' ? action : 'block';
  }

  /** Whether a node without records keeps a wildcard away, which unbound sees only now and then. */
  isBehindEmpty(name: string): boolean {
    const encloser = this.#nodes.has(name) ? name : this.#encloser(name);
    return !this.#actions.has(encloser);
  }

  /** The closest name above that exists; '' when the name does. */
  #encloser(name: string): string {
    if (this.#nodes.has(name)) return '';
    let above = parentOf(name);
    while (above !== '' && !this.#nodes.has(above)) above = parentOf(above);
    return above;
  }
}

function parentOf(name: string): string {
  const dot = name.indexOf('.');
  return dot < 0 ? '' : name.slice(dot + 1);
}

test(
  'addresses in answers are those that unbound blocks',
  { skip: missingTools('unbound') },
  async (t) => {
    const dice = new Dice(SEED);
    const triggers = new Map<string, string>();
    for (let count = 0; count < 60; count++) {
      const bits = 24 + dice.below(9);
      const last = dice.below(256) & (0xff00 >> (bits - 24)) & 0xff;
      triggers.set(`${String(bits)}.${String(last)}.100.51.198.rpz-ip`, dice.one(RPZ_ACTIONS));
    }
    const lines = [...RPZ_HEAD, ...[...triggers].map(([owner, action]) => `${owner} ${action}`)];
    const { rules } = parse(`${lines.join('\n')}\n`, 'rpz', { allowWide: true });
    const names = Array.from({ length: 256 }, (_, last) => `ip-${String(last)}.example`);
    const answers = await askAll(await startOwner(t, 'rpz', lines), names);
    for (const [last, name] of names.entries()) {
      const address = readAddress(`198.51.100.${String(last)}`) as Uint8Array;
      const own = textOf(rules, !rules.blocksAddress(address, context));
      assert.equal(own, answers[last], name);
    }
  },
);

const ZONES = [
  'always_null',
  'always_nxdomain',
  'static',
  'redirect',
  'transparent',
  'typetransparent',
  'always_transparent',
  'always_nodata',
  'refuse',
  'inform',
];

test(
  'local zones and their data say what unbound says',
  { skip: missingTools('unbound') },
  async (t) => {
    const { lines, names } = roll((dice, name) => {
      const isData = dice.below(3) === 0;
      const data = `local-data: "${name} ${dice.one(['', '1h ', 'IN '])}A ${dice.one(['192.0.2.1', '127.0.0.1', '0.0.0.0'])}"`;
      return isData ? data : `local-zone: "${name}" ${dice.one(ZONES)}`;
    });
    const zones = new Map<string, string>();
    for (const line of lines) {
      const [, name = '', type = ''] = /^local-zone: "(.*)" (.*)$/.exec(line) ?? [];
      if (name !== '') zones.set(name, type);
    }
    const zoneOf = (name: string): string => {
      let zone = name;
      while (zone !== '' && !zones.has(zone)) zone = parentOf(zone);
      return zone;
    };
    // With data below the name of a redirect zone, unbound does not start.
    const usable = lines.filter((line) => {
      const data = /^local-data: "(\S+) /.exec(line)?.[1] ?? '';
      const zone = zoneOf(data);
      return zone === data || zones.get(zone) !== 'redirect';
    });
    const { different } = await compare(t, 'unbound', [...new Set(usable)], names);
    // No data where the zone could have some: a block to us, as every way to say that nothing is there.
    const unexplained = different.filter((text) => {
      const type = zones.get(zoneOf(text.split(':')[0] ?? '')) ?? '';
      const isEmpty = text.endsWith('unbound nodata, ours block');
      return !isEmpty || !['redirect', 'static'].includes(type);
    });
    assert.deepEqual(unexplained, []);
  },
);

test('settings of dnsmasq say what dnsmasq says', { skip: missingTools('dnsmasq') }, async (t) => {
  const { lines, names } = roll((dice, name) => {
    const written = dice.one([name, name, name, `.${name}`, `*.${name}`]);
    return dice.one([
      `address=/${written}/#`,
      `address=/${written}/`,
      `address=/${written}/127.0.0.1`,
      `address=/${written}/192.0.2.1`,
      `server=/${written}/#`,
      `local=/${written}/`,
    ]);
  });
  const { different } = await compare(t, 'dnsmasq', [...new Set(lines)], names);
  assert.deepEqual(different, []);
});
