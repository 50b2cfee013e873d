/** Runs the conformance files of every dialect; conformance/README.md says how to read them. */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { createMatchContext, type MatchContext } from '../../main/engine/filter/match-context.ts';
import { typeNumber } from '../../main/dns/record-type.ts';
import {
  RULE_ALLOW,
  RULE_IMPORTANT_ALLOW,
  RULE_NONE,
  type Rewrite,
  type RuleSet,
} from '../../main/engine/filter/rule-set.ts';
import { FORMATS, type ListFormat } from '../../main/lists/formats/detect.ts';
import { readAddress } from '../../main/lists/formats/address-bytes.ts';
import { parse, viewOf, type ParsedList } from './list-fixtures.ts';

const FOLDER = join(import.meta.dirname, 'conformance');

interface Case {
  readonly title: string;
  readonly list: string[];
  readonly questions: string[];
}

function read(text: string): Case[] {
  const cases: Case[] = [];
  for (const line of text.split('\n')) {
    const rest = line.slice(2);
    if (line.startsWith('=')) cases.push({ title: rest, list: [], questions: [] });
    else if (line.startsWith('|')) cases.at(-1)?.list.push(rest);
    else if (line.startsWith('?')) cases.at(-1)?.questions.push(rest);
    else assert.equal(line.trim(), '', line);
  }
  return cases;
}

const TYPE_NAMES = ['A', 'AAAA', 'CNAME', 'MX', 'TXT', 'PTR', 'SRV', 'SVCB', 'HTTPS'];

function textOf({ rcode, cname, records, drop, tcpOnly }: Rewrite): string {
  if (drop) return 'drop';
  if (tcpOnly === true) return 'tcp-only';
  if (cname !== '') return `cname ${cname}`;
  if (records.length === 0) return rcode === 0 ? 'nodata' : `rcode ${String(rcode)}`;
  const texts = records.map(({ type, rdata }) => {
    const name = TYPE_NAMES.find((one) => typeNumber(one) === type) ?? String(type);
    return `${name} ${Buffer.from(rdata).toString('hex')}`;
  });
  return texts.join(', ');
}

function verdictOf(rules: RuleSet, name: string, context: MatchContext): string {
  const rank = rules.match(viewOf(name), context);
  if (rank === RULE_NONE) return 'pass';
  if (rank === RULE_ALLOW || rank === RULE_IMPORTANT_ALLOW) return 'allow';
  return rules.rewrite === null ? 'block' : textOf(rules.rewrite);
}

function answer(list: ParsedList, words: readonly string[]): string {
  const [first = '', second = 'A', ...rest] = words;
  const context = createMatchContext();
  if (first === 'lines') {
    const lines = list.report.ignored.reduce((sum, one) => sum + one.lines, 0);
    return `ignored ${String(lines)}`;
  }
  if (first === 'answer') {
    const isBlocked = list.rules.blocksAddress(readAddress(second) as Uint8Array, context);
    if (!isBlocked) return 'pass';
    return list.rules.rewrite === null ? 'block' : textOf(list.rules.rewrite);
  }
  context.type = typeNumber(second);
  for (const word of rest) {
    const [key, value = ''] = word.split('=');
    const address = key === 'client' ? readAddress(value) : null;
    if (address !== null) context.clientAddress.set(address);
    else if (key === 'client') context.clientNames = [value];
    else context.clientTags = [value];
  }
  return verdictOf(list.rules, first, context);
}

const files = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));

test('every dialect has a file', () => {
  const names = files.map((file) => file.replace('.txt', ''));
  assert.deepEqual(names.sort(), Object.keys(FORMATS).sort());
});

for (const file of files) {
  describe(file, () => {
    for (const { title, list, questions } of read(readFileSync(join(FOLDER, file), 'utf8'))) {
      test(title, () => {
        const parsed = parse(`${list.join('\n')}\n`, file.replace('.txt', '') as ListFormat);
        assert.ok(questions.length > 0);
        for (const question of questions) {
          const [asked = '', expected = ''] = question.split(' -> ');
          const { ignored } = parsed.report;
          const detail = `${question}\n${JSON.stringify(ignored, null, 1)}`;
          assert.equal(answer(parsed, asked.split(' ')), expected, detail);
        }
      });
    }
  });
}
