/** What no list should be: each kind of bad input is refused with a reason, or spoils its line only. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { RuleSet } from '../../main/engine/filter/rule-set.ts';
import { compileLists, type CompileSource } from '../../main/lists/compile/compile.ts';
import { FORMATS, type ListFormat } from '../../main/lists/formats/detect.ts';
import { refuseList } from '../../main/lists/compile/validate.ts';
import { parse, rankOf, textOf } from './list-fixtures.ts';

const DIALECTS = Object.keys(FORMATS) as ListFormat[];

/** A good line of each dialect that blocks ads.example. */
const GOOD: Record<ListFormat, string> = {
  adblock: '||ads.example^',
  hosts: '0.0.0.0 ads.example',
  wildcard: '*.ads.example',
  domains: 'ads.example',
  dnsmasq: 'address=/ads.example/#',
  unbound: 'local-zone: "ads.example" always_null',
  rpz: 'ads.example CNAME .',
  regex: '^ads\\.example$',
};

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text));
}

describe('refused as a whole', () => {
  for (const [title, bytes, reason] of [
    ['nothing', new Uint8Array(0), /empty/],
    ['UTF-16, little-endian', Buffer.from('\ufeffads.example\n', 'utf16le'), /UTF-16/],
    ['UTF-16, big-endian', Buffer.from('\ufeffads.example\n', 'utf16le').swap16(), /UTF-16/],
    ['UTF-16 without a mark', Buffer.from('ads.example\n', 'utf16le'), /binary/],
    ['an HTML page', bytesOf('\n<!DOCTYPE html><html><body>404</body></html>'), /HTML/],
    ['an error in JSON', bytesOf('{"error": "not found"}\n'), /only 0 of 1 lines/],
    ['a gzip body', Uint8Array.of(0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xcb, 0x48), /binary/],
    ['prose', bytesOf('This list has moved.\nPlease look elsewhere.\n'), /only 0 of 2/],
  ] as const) {
    test(title, () => {
      for (const format of [...DIALECTS, 'auto'] as const) {
        assert.match(refuseList(new Uint8Array(bytes), { format }, 0) ?? 'taken', reason, format);
      }
    });
  }
});

describe('spoils its own line only, in every dialect', () => {
  const long = 'x'.repeat(1_000_000);
  const label = 'x'.repeat(64);
  const name = `${'abcdefg.'.repeat(32)}example`;
  for (const [title, bad] of [
    ['1 MB', long],
    ['1 MB behind a good beginning', `||ads2.example^$dnstype=${long}`],
    ['NUL bytes', 'a\0b.example'],
    ['a label above 63', `${label}.example`],
    ['a name above 255', name],
    ['a lone slash', '/'],
    ['a scheme', '://'],
    ['a star', '*'],
    ['a dollar sign', '$'],
    ['pipes', '||'],
    ['at signs', '@@'],
    ['an open bracket', '/[a-/'],
    ['open parentheses', '/((((/'],
    ['a look-ahead', '/a(?=b)/'],
    ['a back-reference', '/(a)\\1/'],
    ['far too many repeats', '/(a{1000}){1000}/'],
    ['an empty answer', '||b.example^$dnsrewrite='],
    ['broken UTF-8', '\ufffd\ufffd.example'],
    ['an open quote', 'local-zone: "b.example always_null'],
    ['an open setting', 'address=/b.example'],
    ['half a record', 'b.example CNAME'],
    ['half a network', '33.1.2.3.rpz-ip CNAME .'],
  ] as const) {
    test(title, () => {
      for (const format of DIALECTS) {
        const good = GOOD[format];
        const list = parse(`${good}\r\n${bad}\r\n${good.replace('ads', 'ads3')}`, format);
        const { report } = list;
        const ignored = report.ignored.reduce((sum, one) => sum + one.lines, 0);
        assert.equal(report.lines, 3, format);
        assert.equal(report.rules + report.comments + ignored, 3, format);
        assert.ok(ignored === 1 || report.comments + report.rules === 3, format);
        for (const asked of ['ads.example', 'ads3.example']) {
          assert.equal(rankOf(list.rules, asked), 1, `${asked} in ${format}`);
        }
        assert.equal(rankOf(list.rules, 'www.google.com'), 0, format);
        for (const { examples } of report.ignored) {
          for (const example of examples) assert.ok(example.length <= 121, format);
        }
      }
    });
  }

  test('a byte order mark, CRLF, and no last line feed', () => {
    for (const format of DIALECTS) {
      const list = parse(`\ufeff${GOOD[format]}\r\n${GOOD[format].replace('ads', 'b')}`, format);
      assert.equal(list.report.rules, 2, format);
      assert.equal(rankOf(list.rules, 'b.example'), 1, format);
    }
  });
});

describe('options of a list', () => {
  test('exact, allow and allowWide', () => {
    const exact = parse('ads.example\n', 'domains', { match: 'exact' });
    assert.deepEqual(
      [rankOf(exact.rules, 'ads.example'), rankOf(exact.rules, 'x.ads.example')],
      [1, 0],
    );
    const starred = parse('*.ads.example\nplain.example\n', 'wildcard', { match: 'exact' });
    assert.deepEqual(
      ['x.ads.example', 'x.plain.example'].map((name) => rankOf(starred.rules, name)),
      [1, 0],
    );
    const allow = parse('0.0.0.0 ads.example\n', 'hosts', { action: 'allow' });
    assert.equal(rankOf(allow.rules, 'x.ads.example'), 2);
    const wide = parse('||zip^\n||co.uk^\n', 'adblock', { allowWide: true });
    assert.deepEqual([rankOf(wide.rules, 'a.zip'), rankOf(wide.rules, 'a.co.uk')], [1, 1]);
    assert.equal(rankOf(wide.rules, 'example.com'), 0);
  });

  test('are part of what was compiled: the same text under others is another rule set', () => {
    const bytes = bytesOf('ads.example\n');
    const sha256 = createHash('sha256').update(bytes).digest('hex');
    const copy = { kind: 'current', paths: ['x'], sha256, bytes: 12, namesBefore: 0 } as const;
    const keys = [{}, { match: 'exact' }, { action: 'allow' }, { allowWide: true }].map(
      (options) => {
        const source = { listId: 1, format: 'auto', copies: [copy], ...options } as CompileSource;
        const { rules } = compileLists(
          [source],
          new Uint8Array(32),
          () => textOf(bytes),
          () => undefined,
        );
        assert.ok(rules);
        return Buffer.from(RuleSet.open(rules).key).toString('hex');
      },
    );
    assert.equal(new Set(keys).size, 4);
  });
});

test('the same content in every dialect that can say it blocks the same names', () => {
  const names = Array.from({ length: 3_000 }, (_, i) => `n${i.toString(36)}.s${i % 17}.example`);
  const texts: Partial<Record<ListFormat, string>> = {
    domains: names.join('\n'),
    hosts: names.map((name) => `0.0.0.0 ${name}`).join('\n'),
    adblock: names.map((name) => `||${name}^`).join('\n'),
    wildcard: names.map((name) => `*.${name}`).join('\n'),
    dnsmasq: names.map((name) => `local=/${name}/`).join('\n'),
    unbound: names.map((name) => `local-zone: "${name}" always_nxdomain`).join('\n'),
    rpz: names.map((name) => `${name} CNAME .\n*.${name} CNAME .`).join('\n'),
  };
  for (const [format, text] of Object.entries(texts)) {
    const { report, rules } = parse(`${text}\n`);
    assert.equal(report.format, format);
    assert.deepEqual(report.ignored, []);
    for (const name of names.filter((_, index) => index % 5 === 0)) {
      assert.equal(rankOf(rules, name), 1, format);
      assert.equal(rankOf(rules, `www.${name}`), 1, format);
      assert.equal(rankOf(rules, `x${name}`), 0, format);
    }
  }
});
