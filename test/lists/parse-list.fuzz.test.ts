import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { FORMATS, type ListFormat } from '../../main/lists/formats/detect.ts';
import { parse, suffixesOf, rankOf } from './list-fixtures.ts';
import { refuseList } from '../../main/lists/compile/validate.ts';

const FORMAT_NAMES = [...(Object.keys(FORMATS) as ListFormat[]), 'auto'] as const;

/** Pieces that list lines are made of, in any order. */
const piece = fc.oneof(
  fc.constantFrom('||', '@@', '^', '|', '##', '#@#', '#', '!', '$', '/', '*', '.', ':', ' ', '\t'),
  fc.constantFrom('\n', '\r\n', '\0', '\ufeff', '0.0.0.0 ', '::1 ', 'address=/', '[', ';', '*.'),
  fc.constantFrom('$dnsrewrite=', '$dnstype=A', ',badfilter', ';querytype=A', ' CNAME .', '[a-z]+'),
  fc.constantFrom('ads.example', 'com', 'x', 'co.uk', 'bücher.example', 'localhost', 'a_b.net'),
  fc.string({ maxLength: 70 }),
);
const text = fc.array(piece, { maxLength: 60 }).map((parts) => Buffer.from(parts.join('')));
const bytes = fc.oneof(text, fc.uint8Array({ maxLength: 400 }));

/** RPZ names that lie below a name only; badfilter rules take others out. */
function isOneSided(format: string): boolean {
  return format === 'rpz' || format === 'auto';
}

test('every byte string is a list: lines add up, every name is one that may be blocked', () => {
  const property = fc.property(bytes, fc.constantFrom(...FORMAT_NAMES), (content, format) => {
    const list = parse(new Uint8Array(content), format);
    const { report } = list;
    const ignored = report.ignored.reduce((sum, one) => sum + one.lines, 0);
    assert.equal(report.rules + report.comments + ignored, report.lines);
    assert.ok(report.names >= list.names.length);
    assert.ok(report.rules <= report.names || report.rules === 0);
    for (const entry of list.names) {
      const [name = '', terms] = entry.replace('@@', '').split(' ');
      assert.match(name, /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/);
      assert.ok(name.length <= 253);
      assert.ok(!['co.uk', 'localhost'].includes(name));
      if (terms === undefined && !isOneSided(format)) assert.notEqual(rankOf(list.rules, name), 0);
      assert.ok(suffixesOf(name).length >= 1);
    }
    const reason = refuseList(new Uint8Array(content), { format }, 0);
    assert.ok(reason === null || reason.length > 0);
  });
  fc.assert(property, { numRuns: 2_000 });
});
