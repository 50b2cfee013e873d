/** The automaton against the engine whose programs it runs. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  DFA_UNKNOWN,
  RegexDfa,
  type InstructionProgram,
} from '../../../main/engine/filter/regex-dfa.ts';
import { compileRegex } from '../../../main/engine/filter/regex-engine.ts';
import { measureAllocation } from '../../support/allocation.ts';

const { RE2JS } = createRequire(import.meta.url)('re2js') as typeof import('re2js');

function open(source: string): { regex: InstanceType<typeof RE2JS>; dfa: RegexDfa } {
  const regex = RE2JS.compile(source, RE2JS.CASE_INSENSITIVE);
  const { prog } = regex.re2() as unknown as { prog: InstructionProgram };
  return { regex, dfa: new RegexDfa(prog) };
}

const source: fc.Arbitrary<string> = fc.letrec<{ piece: string; sequence: string }>((tie) => ({
  piece: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom('a', 'b', 'AB', '\\.', '.', '[ab]', '[a-c_]', '[^a]', '\\d', '^', '$', '-'),
    fc.constantFrom('\\b', '\\B', '\\A', '\\z', '\\w', '\\W', '(?i)b', '[[:alnum:]]', '(?m:^a)'),
    tie('sequence').map((inner) => `(${inner})`),
    fc.tuple(tie('sequence'), tie('sequence')).map(([left, right]) => `(${left}|${right})`),
    fc
      .tuple(tie('sequence'), fc.constantFrom('*', '+', '?', '{2}', '{0,1}', '*?', '+?'))
      .map(([inner, quantifier]) => `(${inner})${quantifier}`),
  ),
  sequence: fc.array(tie('piece'), { minLength: 1, maxLength: 4 }).map((parts) => parts.join('')),
})).sequence;
const text = fc
  .array(fc.constantFrom('a', 'b', 'c', '.', '-', '_', '1', '\u00e9'), { maxLength: 12 })
  .map((parts) => parts.join(''));

test('says what the engine says, where it says anything', () => {
  let [said, matched] = [0, 0];
  const property = fc.property(source, fc.array(text, { maxLength: 12 }), (expression, texts) => {
    const { regex, dfa } = open(expression);
    const both = compileRegex(expression);
    for (const one of texts) {
      const bytes = new Uint8Array(Buffer.from(one));
      const found = dfa.run(bytes);
      const expected = regex.test(bytes);
      assert.equal(both.test(bytes), expected, `${expression} on ${one}`);
      if (found === DFA_UNKNOWN) continue;
      said++;
      matched += found;
      assert.equal(found === 1, expected, `${expression} on ${one}`);
    }
  });
  fc.assert(property, { numRuns: 1_500 });
  assert.ok(said > 2_000 && matched > 200, `${said} answers, ${matched} matches`);
});

test('keeps to its bound of states, and gives no answer beyond it', () => {
  const { dfa, regex } = open('a.......................b');
  let unknown = 0;
  for (let seed = 1; seed < 400; seed++) {
    const bits = Array.from({ length: 40 }, (_, at) => ((seed * 2_654_435_761) >>> (at % 32)) & 1);
    const bytes = new Uint8Array(Buffer.from(bits.map((bit) => 'ac'[bit]).join('')));
    const found = dfa.run(bytes);
    if (found === DFA_UNKNOWN) unknown++;
    else assert.equal(found === 1, regex.test(bytes));
  }
  assert.ok(unknown > 0);
});

test('allocates nothing once it knows the way', async () => {
  const { dfa } = open('^ad[0-9]+\\.(x|y)');
  const bytes = new Uint8Array(Buffer.from('ad123.yes.example'));
  const { bytesPerCall } = await measureAllocation(() => dfa.run(bytes));
  assert.ok(bytesPerCall <= 1, `${bytesPerCall} bytes`);
});
