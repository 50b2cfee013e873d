/**
 * Cost of patterns: a miss with 6 labels among 10,000 regular expressions, 10,000 wildcards, and
 * 1,000,000 plain names beside them; the time to compile them; and user rules.
 *
 *     node bench/micro/patterns.bench.ts [PATTERNS]
 *
 * Bounds: a miss <= 3 µs with 10,000 expressions; 10,000 user rules compile in <= 50 ms.
 */
import type { NameView } from '../../main/dns/name.ts';
import { createMatchContext } from '../../main/engine/filter/match-context.ts';
import { hashMix, HASH_SEED, hashByte, writeName } from '../../main/dns/name.ts';
import { RuleSet } from '../../main/engine/filter/rule-set.ts';
import { parseList } from '../../main/lists/compile/parse-list.ts';
import { RuleSetBuilder } from '../../main/lists/compile/rule-set-builder.ts';
import { compileRules } from '../../main/lists/compile/rules.ts';

const patterns = Number(process.argv[2] ?? 10_000);
const VIEWS = 4_096;
const ROUNDS = 20;

function word(index: number): string {
  return (hashMix(Math.imul(index, 0x9e3779b1)) >>> 0).toString(36);
}

function viewOf(text: string): NameView {
  const name = new Uint8Array(256);
  const nameLength = writeName(text, name, 0);
  const labelStarts = new Uint8Array(128);
  const suffixHashes = new Int32Array(128);
  let labelCount = 0;
  for (let at = 0; at < nameLength; at += (name[at] as number) + 1) labelStarts[labelCount++] = at;
  let running = HASH_SEED;
  let label = labelCount - 1;
  for (let at = nameLength - 1; at >= 0; at--) {
    running = hashByte(running, name[at] as number);
    if (at === labelStarts[label]) suffixHashes[label--] = hashMix(running);
  }
  return { name, nameLength, labelCount, labelStarts, suffixHashes };
}

const matchContext = createMatchContext();

function measure(label: string, rules: RuleSet, make: (index: number) => string): void {
  const views = Array.from({ length: VIEWS }, (_, index) => viewOf(make(index)));
  let best = Infinity;
  let found = 0;
  for (let round = 0; round < ROUNDS; round++) {
    found = 0;
    const start = process.cpuUsage();
    for (const view of views) if (rules.match(view, matchContext) !== 0) found++;
    best = Math.min(best, (process.cpuUsage(start).user * 1e3) / VIEWS);
  }
  console.log(`${label}: ${best.toFixed(0)} ns, ${String(found)} of ${String(VIEWS)} matched`);
}

function build(label: string, lines: readonly string[]): RuleSet {
  const text = new Uint8Array(Buffer.from(lines.join('\n')));
  const start = process.cpuUsage();
  const builder = new RuleSetBuilder(text.length);
  builder.beginList(1);
  const report = parseList(text, { format: 'auto' }, builder);
  const buffers = builder.finish();
  const { user, system } = process.cpuUsage(start);
  console.log(
    `${label}: ${String(report.rules)} rules of ${String(report.lines)} lines in ` +
      `${((user + system) / 1_000).toFixed(0)} ms, program ${String(buffers.program?.byteLength)} bytes`,
  );
  return RuleSet.open(buffers);
}

/** Of words that no pattern has. */
const miss = (index: number): string => {
  return `a.b.${word(index + 5_000_000)}.c.${word(index + 6_000_000)}-x.example`;
};
const numbers = Array.from({ length: patterns }, (_, index) => index);
const shapes = [
  (index: number) => `/^${word(index)}[0-9]*\\./`,
  (index: number) => `/(^|\\.)${word(index)}-(ads?|track)\\.[a-z]+$/`,
  (index: number) => `/^(ad|banner)[0-9]+\\.${word(index)}\\.(com|net)$/`,
  (index: number) => `/${word(index)}.*(pixel|beacon)/`,
];
const expressions = build(
  'expressions',
  numbers.map((index) => (shapes[index % shapes.length] as (index: number) => string)(index)),
);
measure('expressions, miss', expressions, miss);
measure('expressions, hit', expressions, (index) => `${word((index * 4) % patterns)}7.example`);
const wildcards = build(
  'wildcards',
  numbers.map((index) => `||${word(index)}*.ads${String(index % 97)}.example^`),
);
measure('wildcards, miss', wildcards, miss);
measure('wildcards, hit', wildcards, (i) => `${word(i)}x.ads${String(i % 97)}.example`);

for (const [label, rules] of [
  ['user rules, names', numbers.map((index) => `||${word(index)}.example^`)],
  [
    'user rules, conditions',
    numbers.map((index) => `||${word(index)}.example^$dnstype=A,important`),
  ],
] as const) {
  let best = Infinity;
  for (let round = 0; round < 5; round++) {
    const start = process.cpuUsage();
    compileRules(rules);
    best = Math.min(best, process.cpuUsage(start).user / 1_000);
  }
  console.log(`${label}: ${String(rules.length)} compile in ${best.toFixed(0)} ms`);
}
