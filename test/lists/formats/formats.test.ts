import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RULE_BLOCK } from '../../../main/engine/filter/rule-set.ts';
import { detectFormat, parseList } from '../../../main/lists/compile/parse-list.ts';
import { NO_SINK } from '../../../main/lists/formats/rule-sink.ts';
import { ignored, parse, rankOf } from '../list-fixtures.ts';

function bytesOf(text: string): Uint8Array {
  return new Uint8Array(Buffer.from(text));
}

function isSum({ report }: ReturnType<typeof parse>): boolean {
  const lines = report.ignored.reduce((sum, one) => sum + one.lines, 0);
  return report.rules + report.comments + lines === report.lines;
}

describe('detection', () => {
  for (const [format, text] of [
    ['hosts', '# list\n0.0.0.0 a.example\n127.0.0.1 b.example c.example\n::1 d.example\n'],
    ['domains', '# list\n\na.example\nb.example\n'],
    ['adblock', '[Adblock Plus 2.0]\n! list\n||a.example^\n@@||b.example^\n'],
    ['adblock', 'news.example##.ad\nshop.example#@#.banner\n||a.example^$third-party\n'],
    ['wildcard', '*.a.example\n*.b.example\n'],
    ['wildcard', '.a.example\n.b.example\n'],
    ['dnsmasq', '# list\naddress=/a.example/#\nserver=/b.example/\n'],
    ['unbound', 'server:\nlocal-zone: "a.example" always_null\n'],
    ['domains', ''],
    ['domains', '# only\n! comments\n; here\n'],
    [
      'rpz',
      '$TTL 60\n@ IN SOA a. b. 1 1 1 1 1\n IN NS a.\nx.example CNAME .\n*.x.example CNAME .\n',
    ],
    ['regex', '# list\n^ad[0-9]*\\.\n(\\.|^)track\\.example$\n'],
    ['regex', '[sv]ads?[0-9]+\\.\nx\\.example$;querytype=A\n'],
    ['adblock', '/^ads[0-9]+/\n||x^$important\n|y.example^\n'],
  ] as const) {
    test(`${format}: ${JSON.stringify(text.slice(0, 40))}`, () => {
      assert.equal(detectFormat(bytesOf(text)), format);
    });
  }

  test('the majority of lines decides', () => {
    assert.equal(detectFormat(bytesOf('a.example A 0.0.0.0\n*.a.example A 0.0.0.0\n')), 'rpz');
    assert.equal(detectFormat(bytesOf('a.example 1h IN A 127.0.0.1\nb.example AAAA ::\n')), 'rpz');
    assert.equal(detectFormat(bytesOf('u.example 2h30m IN CNAME .\n')), 'rpz');
    assert.equal(detectFormat(bytesOf('a.example\nb.example\n||c.example^\n')), 'domains');
    assert.equal(detectFormat(bytesOf('a.example\n||b.example^\n||c.example^\n')), 'adblock');
  });
});

describe('hosts', () => {
  test('takes every name of a line, whatever the address', () => {
    const list = parse(
      '0.0.0.0 a.example b.example\tc.example # d.example\n' +
        '192.168.7.1\te.example\n2001:db8::1 f.example\nfe80::1%lo0 g.example\n' +
        '  0.0.0.0   h.example#i.example\n',
    );
    assert.equal(list.report.format, 'hosts');
    assert.deepEqual(
      list.names,
      Array.from('abcefgh').map((letter) => `${letter}.example`),
    );
    assert.deepEqual([list.report.rules, list.report.lines], [5, 5]);
  });

  test('never takes names of the machine itself, nor addresses', () => {
    const own =
      '127.0.0.1 localhost\n127.0.0.1 localhost.localdomain\n127.0.0.1 local\n' +
      '255.255.255.255 broadcasthost\n::1 localhost\n::1 ip6-localhost ip6-loopback\n' +
      'ff00::0 ip6-mcastprefix\nff02::1 ip6-allnodes\nfe80::1%lo0 LOCALHOST\n';
    const list = parse(`${own}0.0.0.0 0.0.0.0\n0.0.0.0 a.example\n1.2.3.4\n`);
    assert.deepEqual(list.names, ['a.example']);
    assert.deepEqual(ignored(list.report), {
      'name of the machine itself, such as localhost': 9,
      'IP address, not a name': 2,
    });
    assert.ok(isSum(list));
  });

  test('a line without address is a plain name; cosmetic rules are not cut down to hosts', () => {
    const list = parse('0.0.0.0 a.example\n0.0.0.0 b.example\nc.example\nfandom.com##.ad\nd e\n');
    assert.deepEqual(list.names, ['a.example', 'b.example', 'c.example']);
    assert.equal(list.report.ignored.length, 2);
  });
});

describe('domains and wildcards', () => {
  test('plain, starred, dotted, with trailing dot, upper case, inline comment', () => {
    const list = parse(
      'a.example\nB.Example.\n*.c.example\n.d.example\ne.example # why\nf.example#x\n',
    );
    assert.deepEqual(
      list.names,
      Array.from('abcdef').map((letter) => `${letter}.example`),
    );
  });

  test('ignores what is no name, with the reason', () => {
    const lines = {
      'a.example/path': 'rule for a path, port or URL',
      'https://b.example/': 'rule for a path, port or URL',
      '://': 'rule for a path, port or URL',
      '/': 'rule for a path, port or URL',
      'c.example:80': 'rule for a path, port or URL',
      '*': 'pattern inside a name',
      'd*.example': 'pattern inside a name',
      '10.0.0.1': 'IP address, not a name',
      '2001:db8::1': 'IP address, not a name',
      com: 'too wide',
      '*.com': 'too wide',
      'co.uk': 'too wide',
      'github.io': 'too wide',
      'e..example': 'label empty or longer than 63 characters',
      '..': 'label empty or longer than 63 characters',
      [`${'x'.repeat(64)}.example`]: 'label empty or longer than 63 characters',
      [`${'abcdefg.'.repeat(32)}example`]: 'name longer than 253 characters',
      'two words.example': 'more than one word, and the first is not an IP address',
      'fandom.com##.ad': 'cosmetic rule',
      'fandom.com#@#.ad': 'cosmetic rule',
      'fandom.com#?#.ad': 'cosmetic rule',
      'a!b.example': 'not a host name',
      'address=/x.example/#': 'dnsmasq setting that does not block',
      'local-zone: "x.example" always_null': 'unbound setting that does not block',
    };
    for (const [line, reason] of Object.entries(lines)) {
      const list = parse(`${line}\n`, 'domains');
      assert.deepEqual(list.names, [], line);
      assert.deepEqual(ignored(list.report), { [reason]: 1 }, line);
    }
  });

  test('the longest name and label are taken', () => {
    const label = 'x'.repeat(63);
    const longest = `${`${label}.`.repeat(3)}${'y'.repeat(57)}.abc`;
    assert.equal(longest.length, 253);
    assert.deepEqual(parse(`${longest}\n`).names, [longest]);
    assert.deepEqual(parse(`${longest}d\n`).names, []);
  });

  test('U-labels become A-labels; broken UTF-8 does not', () => {
    const list = parse('bücher.example\nпример.рф\n*.ÜBER.example\n||日本語.example^\n', 'adblock');
    assert.deepEqual(list.names, [
      'xn--bcher-kva.example',
      'xn--e1afmkfd.xn--p1ai',
      'xn--ber-goa.example',
      'xn--wgv71a119e.example',
    ]);
    const broken = parse(new Uint8Array([0xff, 0x61, 0x2e, 0x62, 0x0a]), 'domains');
    assert.deepEqual(ignored(broken.report), { 'not a host name': 1 });
  });
});

const MODIFIERS = 'rule with modifiers that mean nothing in DNS';

describe('adblock', () => {
  test('whole-name rules block and allow', () => {
    const list = parse(
      '! title\n||a.example^\n@@||b.example^\n||c.example\n||*.d.example^\n||e.example^|\n' +
        'f.example\n0.0.0.0 g.example\n@@h.example\n*.i.example\n',
    );
    assert.deepEqual(list.names, [
      'a.example',
      '@@b.example',
      'd.example',
      'e.example',
      'f.example',
      'g.example',
      '@@h.example',
      'i.example',
    ]);
    assert.equal(list.report.comments, 1);
  });

  test('everything that is more than a name is ignored, never cut down to one', () => {
    const lines = {
      'x.example##.ad': 'cosmetic rule',
      '##.ad': 'cosmetic rule',
      '#@#.ad': 'cosmetic rule',
      '#?#.ad:has(b)': 'cosmetic rule',
      '#$#body { color: red }': 'cosmetic rule',
      'x.example#%#alert(1)': 'cosmetic rule',
      'x.example$$script[tag]': 'cosmetic rule',
      'x.example,y.example##.ad': 'cosmetic rule',
      '||x.example##.ad': 'cosmetic rule',
      '||x.example^$third-party': MODIFIERS,
      '@@||x.example^$document': MODIFIERS,
      '||x.example^$important,script': MODIFIERS,
      '||x.example^$domain=y.example': MODIFIERS,
      '||x.example^$app=org.example': MODIFIERS,
      '||198.51.100.1^$network': MODIFIERS,
      '/^ads[0-9]/$third-party': MODIFIERS,
      '$removeparam=utm': MODIFIERS,
      '||x.example^$dnstype=NOSUCH': 'modifier with a value that cannot be read',
      '||x.example^$dnsrewrite=a b': 'modifier with a value that cannot be read',
      '||x.example^$dnsrewrite': 'modifier with a value that cannot be read',
      '||x.example^$dnsrewrite=NOERROR;A;::1': 'modifier with a value that cannot be read',
      '||x.example^$important=1': 'modifier with a value that cannot be read',
      '||x.example/path': 'rule for a path, port or URL',
      '||x.example^path': 'pattern inside a name',
      '||x.example:8080^': 'rule for a path, port or URL',
      'x.example/banner': 'rule for a path, port or URL',
      '/(?=banner)ads/': 'regular expression that is not valid, or cannot run in linear time',
      '/[a-z/': 'regular expression that is not valid, or cannot run in linear time',
      '/.*/': 'too wide',
      '/\\.(com|net)$/': 'too wide',
      '/': 'rule for a path, port or URL',
      '//': 'rule for a path, port or URL',
      '://': 'rule for a path, port or URL',
      '/banner.gif': 'rule for a path, port or URL',
      '|https://x.example': 'rule for a path, port or URL',
      $: MODIFIERS,
      '||': 'label empty or longer than 63 characters',
      '@@': 'label empty or longer than 63 characters',
      '*': 'too wide',
      '*$denyallow=x.example': 'too wide',
      '||*.com^': 'too wide',
      '.zip^': 'too wide',
      '||com^': 'too wide',
      '||com.au^': 'too wide',
      '||^': 'label empty or longer than 63 characters',
      '||0.0.0.0^': 'too wide',
      '||localhost^': 'name of the machine itself, such as localhost',
    };
    for (const [line, reason] of Object.entries(lines)) {
      const list = parse(`${line}\n`, 'adblock');
      assert.deepEqual(list.names, [], line);
      assert.deepEqual(ignored(list.report), { [reason]: 1 }, line);
    }
  });

  test('number signs may also be comments', () => {
    const list = parse('# a\n## b\n#####\n#\n[Adblock Plus]\n! c\n\n', 'adblock');
    assert.deepEqual([list.report.comments, list.report.lines, list.names.length], [7, 7, 0]);
  });
});

describe('any list', () => {
  test('comments, byte order mark, CRLF, blanks, missing last line feed', () => {
    const list = parse('\ufeff# a\r\n! b\r\n; c\r\n\r\n \t \r\n  a.example \t\r\nb.example');
    assert.deepEqual(list.names, ['a.example', 'b.example']);
    assert.deepEqual([list.report.lines, list.report.comments], [7, 5]);
    assert.equal(rankOf(list.rules, 'b.example'), RULE_BLOCK);
    assert.equal(list.rules.line, 7);
  });

  test('NUL bytes spoil their line only', () => {
    const list = parse('a.example\nb\0.example\n\0\nc.example\n');
    assert.deepEqual(list.names, ['a.example', 'c.example']);
    assert.deepEqual(ignored(list.report), { 'not a host name': 2 });
    assert.ok(!list.report.ignored[0]?.examples.join('').includes('\0'));
  });

  test('a line of 1 MB is one ignored line, unless it is a comment', () => {
    const long = 'x'.repeat(1_000_000);
    for (const format of ['hosts', 'domains', 'adblock'] as const) {
      const list = parse(`a.example\n${long}\n# ${long}\n0.0.0.0 ${long}\nb.example\n`, format);
      assert.deepEqual(list.names, ['a.example', 'b.example']);
      assert.deepEqual(ignored(list.report), { 'line longer than 64 KiB': 2 });
      assert.equal(list.report.comments, 1);
      assert.ok((list.report.ignored[0]?.examples[0]?.length ?? 0) <= 121);
    }
  });

  test('at most three examples a reason, most frequent reason first', () => {
    const { report } = parse('x y\na/1\na/2\na/3\na/4\nok.example\n', 'domains');
    assert.deepEqual(
      report.ignored.map(({ lines }) => lines),
      [4, 1],
    );
    assert.deepEqual(report.ignored[0]?.examples, ['a/1', 'a/2', 'a/3']);
  });

  test('the same names in every dialect block the same sample', () => {
    const names = Array.from({ length: 2_000 }, (_, i) => `n${i.toString(36)}.s${i % 13}.example`);
    const dialects = {
      domains: names.join('\n'),
      adblock: names.map((name) => `||${name}^`).join('\n'),
      wildcard: names.map((name) => `*.${name}`).join('\r\n'),
      hosts: names.map((name) => `0.0.0.0 ${name}`).join('\n'),
    };
    const tables = Object.entries(dialects).map(([format, text]) => {
      const list = parse(text);
      assert.equal(list.report.format, format);
      assert.equal(list.report.names, names.length);
      return list.rules;
    });
    const [first, ...others] = tables as [(typeof tables)[0], ...typeof tables];
    for (const other of others) {
      assert.deepEqual(new Uint8Array(other.buffers.table), new Uint8Array(first.buffers.table));
    }
    for (const name of names.slice(0, 200)) {
      assert.equal(rankOf(first, `www.${name}`), RULE_BLOCK);
      assert.equal(rankOf(first, `x${name}`), 0);
    }
  });

  test('progress is told as lines go by', () => {
    const told: number[] = [];
    parseList(bytesOf('\n'.repeat(200_000)), { format: 'domains' }, NO_SINK, (lines) =>
      told.push(lines),
    );
    assert.deepEqual(told, [65_536, 131_072, 196_608]);
  });
});

describe('rpz', () => {
  test('$TTL is the time of records that name none', () => {
    const zone = '$TTL 90\na.example A 192.0.2.1\nb.example 30 IN A 192.0.2.1\n';
    const { names } = parse(`@ IN SOA a. b. 1 1 1 1 1\nz.example A 192.0.2.1\n${zone}`, 'rpz');
    assert.deepEqual(
      names.map((name) => /\[\[1,(\d+),/.exec(name)?.[1]),
      ['3600', '90', '30'],
    );
  });
});
