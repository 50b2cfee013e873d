/**
 * The claims ledger: no number and no advertised internal in README.md without a measurement or a
 * test. Figures stand in a generated block; every other line with a number that could be measured
 * carries `<!-- claim: id -->`, and bench/claims.json names the test that holds the claim.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { BEGIN, END, figuresBlock } from '../../bench/readme.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const README = readFileSync(join(ROOT, 'README.md'), 'utf8');
const CLAIMS = JSON.parse(readFileSync(join(ROOT, 'bench/claims.json'), 'utf8')) as Record<
  string,
  { readonly says: string; readonly test: string; readonly name: string }
>;
const MARKER = /<!-- claim: ([a-z0-9-]+) -->/g;
const MEASURABLE =
  /\b\d[\d,.]*\s?(QPS|queries|answers|names|records|ms|µs|ns|s|seconds|MiB|KiB|MB|bytes|%|×)(?![\w-])/;

test('the figures in README.md are those of the committed result files', () => {
  const block = README.slice(README.indexOf(BEGIN), README.indexOf(END) + END.length);
  assert.equal(block, figuresBlock(), 'run: npm run bench:readme');
});

test('a measurable number outside the figures names its claim', () => {
  const prose =
    README.slice(0, README.indexOf(BEGIN)) + README.slice(README.indexOf(END) + END.length);
  const paragraphs = prose.replace(/```[\s\S]*?```/g, '').split(/\n\s*\n|\n(?=- |\| )/);
  const bare = paragraphs.filter((text) => MEASURABLE.test(text) && !text.includes('<!-- claim:'));
  assert.deepEqual(bare, []);
});

test('every claim in README.md is in the ledger, and the ledger holds no others', () => {
  const used = new Set([...README.matchAll(MARKER)].map((match) => match[1] ?? ''));
  assert.deepEqual([...used].sort(), Object.keys(CLAIMS).sort());
});

for (const [id, claim] of Object.entries(CLAIMS)) {
  test(`claim ${id} is held by a test that exists`, () => {
    const text = readFileSync(join(ROOT, claim.test), 'utf8');
    assert.ok(text.includes(claim.name), `${claim.test} has no test named "${claim.name}"`);
    assert.ok(claim.says.length > 0);
  });
}
