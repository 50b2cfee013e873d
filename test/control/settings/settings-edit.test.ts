/**
 * Edits of the settings text: the data as wanted, every comment and every other byte as before.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Config } from '../../../main/contract/config.ts';
import {
  planAddList,
  planChangeList,
  planEnableList,
  planRemoveList,
} from '../../../main/control/settings/list-edits.ts';
import { resourcePath } from '../../../main/control/process/resources.ts';
import { planAddRule, planRemoveRule } from '../../../main/control/settings/rule-edits.ts';
import { editSection } from '../../../main/control/settings/settings-edit.ts';
import { readSettings } from '../../../main/control/settings/settings-text.ts';

const TEMPLATE = readFileSync(resourcePath('sluice.yaml'), 'utf8');

function addRule(text: string, rule: string): string {
  const plan = planAddRule(readSettings(text, 'f').config, rule);
  return plan ? editSection(text, 'rules', plan.change, plan.wanted).text : text;
}

function removeRule(text: string, rule: string): string {
  const plan = planRemoveRule(readSettings(text, 'f').config, rule);
  assert.ok(plan);
  return editSection(text, 'rules', plan.change, plan.wanted).text;
}

function editLists(text: string, plan: (config: Config) => ReturnType<typeof planAddList>): string {
  const planned = plan(readSettings(text, 'f').config);
  return planned ? editSection(text, 'lists', planned.change, planned.wanted).text : text;
}

/** Lines of `text` that are not in `other`, in order. */
function linesOnlyIn(text: string, other: string): string[] {
  const lines = new Set(other.split('\n'));
  return text.split('\n').filter((line) => !lines.has(line));
}

test('the first rule into the template changes only the rules section', () => {
  const after = addRule(TEMPLATE, 'Ads.Example');
  assert.deepEqual(linesOnlyIn(after, TEMPLATE), ['rules:', '  - "||ads.example^"']);
  assert.deepEqual(linesOnlyIn(TEMPLATE, after), ['rules: []']);
});

test('adding and removing rules in the template leaves its comments', () => {
  let text = addRule(addRule(addRule(TEMPLATE, 'a.example'), '@@b.example'), 'c.example');
  assert.deepEqual(readSettings(text, 'f').config.rules, [
    '||a.example^',
    '@@||b.example^',
    '||c.example^',
  ]);
  for (const rule of ['||b.example^', '@@||a.example^']) {
    assert.throws(() => removeRule(text, rule), { code: 'RULE_UNKNOWN' });
  }
  for (const rule of ['b.example', '||c.example^', 'a.example']) {
    text = removeRule(text, rule === 'b.example' ? '@@b.example' : rule);
  }
  assert.deepEqual(readSettings(text, 'f').config.rules, []);
  const comments = (of: string) => of.split('\n').filter((line) => line.includes('#'));
  assert.deepEqual(comments(text), comments(TEMPLATE));
});

test('a rule among commented ones keeps every comment and the layout around it', () => {
  const before = [
    '# top',
    'rules:   # mine',
    '  # trackers',
    '  - "||t.example^"     # known bad',
    "  - '@@||ok.example^'",
    '',
    '# DNS comes last',
    'dns:',
    '    threads:   2   # odd spacing',
    '',
  ].join('\n');
  const after = addRule(before, 'new.example');
  assert.deepEqual(
    linesOnlyIn(after, before).filter((line) => line.includes('new')),
    ['  - "||new.example^"'],
  );
  for (const part of ['# top', '# mine', '# trackers', '# known bad', '# DNS comes last']) {
    assert.ok(after.includes(part), part);
  }
  assert.ok(after.includes('\n    threads:   2   # odd spacing\n'), 'other sections untouched');
});

test('a rule for the same name with the other action takes its place', () => {
  const before = 'rules:\n  - "||a.example^" # why\n  - "||b.example^"\n';
  const after = addRule(before, '@@||a.example^');
  assert.deepEqual(readSettings(after, 'f').config.rules, ['@@||a.example^', '||b.example^']);
});

test('a rule that is there in another spelling changes nothing', () => {
  const before = 'rules: ["ads.example"]\n';
  assert.equal(addRule(before, '||ADS.example^'), before);
});

test('JSON settings stay JSON', () => {
  const after = addRule('{"dns": {"threads": 2}, "rules": ["||a.example^"]}', 'b.example');
  assert.deepEqual(JSON.parse(after), {
    dns: { threads: 2 },
    rules: ['||a.example^', '||b.example^'],
  });
});

test('an empty file and one of comments only get the section', () => {
  assert.deepEqual(readSettings(addRule('', 'a.example'), 'f').config.rules, ['||a.example^']);
  const after = addRule('# keep me\n', 'a.example');
  assert.match(after, /^# keep me\n/);
  assert.deepEqual(readSettings(after, 'f').config.rules, ['||a.example^']);
});

test('an alias or an anchor in the section is no obstacle', () => {
  for (const before of [
    'dns:\n  upstreams: &x ["9.9.9.9"]\n  bootstrap: *x\nrules: &r ["||a.example^"]\n',
    'lists: &l\n  - &one { name: a, url: "https://a.example/" }\nrules: []\n',
  ]) {
    const after = addRule(before, 'z.example');
    assert.ok(readSettings(after, 'f').config.rules.includes('||z.example^'));
  }
});

test('lists: add, switch off, remove; the default list is kept when lists were not named', () => {
  const source = { name: 'New', url: 'https://n.example/', format: 'auto', enabled: true } as const;
  let text = editLists('# mine\n', (config) => planAddList(config, source));
  assert.deepEqual(
    readSettings(text, 'f').config.lists.map(({ name }) => name),
    ['Starter', 'New'],
  );
  text = editLists(text, (config) => planEnableList(config, 'Starter', false));
  assert.equal(readSettings(text, 'f').config.lists[0]?.enabled, false);
  text = editLists(text, (config) => planRemoveList(config, 'New'));
  assert.equal(readSettings(text, 'f').config.lists.length, 1);
  assert.match(text, /^# mine/);
  assert.throws(
    () => editLists(text, (config) => planAddList(config, { ...source, name: 'Starter' })),
    {
      code: 'LIST_EXISTS',
    },
  );
  assert.throws(() => editLists(text, (config) => planRemoveList(config, 'None')), {
    code: 'LIST_UNKNOWN',
  });
});

test('lists: what one is used for is written only where it is not as usual', () => {
  const use = (text: string, change: Parameters<typeof planChangeList>[2]) =>
    editLists(text, (config) => planChangeList(config, 'a', change));
  const before = '# mine\nlists:\n  - { name: a, url: "https://a.example/" }\n';
  const allowed = use(before, { action: 'allow', match: 'exact', allowWide: true });
  const [list] = readSettings(allowed, 'f').config.lists;
  assert.deepEqual([list?.action, list?.match, list?.allowWide], ['allow', 'exact', true]);
  assert.match(allowed, /^# mine/);
  const usual = use(allowed, { action: 'block', match: 'subdomains', allowWide: false });
  assert.doesNotMatch(usual, /action|match|allowWide/);
  assert.throws(() => editLists(before, (config) => planChangeList(config, 'b', {})), {
    code: 'LIST_UNKNOWN',
  });
});

test('the template with a list added keeps the comment about another one', () => {
  const source = { name: 'New', url: 'https://n.example/', format: 'auto', enabled: true } as const;
  const after = editLists(TEMPLATE, (config) => planAddList(config, source));
  assert.ok(after.includes('# - { name: "StevenBlack"'));
  assert.ok(after.includes('# How often lists are looked up again.'));
  assert.deepEqual(linesOnlyIn(after, TEMPLATE), [
    '  - { name: New, url: https://n.example/, format: auto, enabled: true }',
  ]);
});

test('any sequence of edits: the file reads as wanted, and no comment is lost', () => {
  const name = fc.integer({ min: 0, max: 9 }).map((number) => `n${String(number)}.example`);
  const edit = fc.record({ name, allow: fc.boolean(), remove: fc.boolean() });
  const head = fc.constantFrom(
    '',
    '# first\n\n',
    'dns: # d\n  threads: 2 # t\n',
    '# a\nlog: { mode: off } # b\n\n\n# c\n',
  );
  const tail = fc.constantFrom(
    '',
    '# last',
    '\n\n# x\ncache: {} # y\n',
    'http:\n  # z\n  listen: "127.0.0.1:1"\n',
  );
  const middle = fc.constantFrom(
    '',
    'rules: []\n',
    'rules:  # r\n  - n1.example # one\n',
    'rules: ["n1.example"] # f\n',
  );
  fc.assert(
    fc.property(head, middle, tail, fc.array(edit, { maxLength: 12 }), (a, b, c, edits) => {
      let text = a + b + c;
      const fixed = (a + c).match(/#.*/g) ?? [];
      for (const { name: host, allow, remove } of edits) {
        const rule = `${allow ? '@@' : ''}||${host}^`;
        const before = readSettings(text, 'f').config;
        const plan = remove
          ? tryPlan(() => planRemoveRule(before, rule))
          : planAddRule(before, rule);
        if (!plan) continue;
        text = editSection(text, 'rules', plan.change, plan.wanted).text;
        const after = readSettings(text, 'f').config;
        assert.deepEqual(after, { ...before, rules: plan.wanted });
        for (const comment of fixed) assert.ok(text.includes(comment), `${comment} in\n${text}`);
      }
    }),
    { numRuns: 300 },
  );
});

function tryPlan<Plan>(plan: () => Plan): Plan | undefined {
  try {
    return plan();
  } catch {
    return undefined; // no such rule
  }
}

const KEEPING: Record<string, string> = {
  'entries put out, and nothing else': 'rules:\n  # - "a.example"   # mine\n  # second\ndns:\n',
  'comments everywhere':
    'rules: # mine\n  - "||a.example^"  # one\n  # two\n  - b.example   # three\n',
  'entries at the left edge': 'rules:\n- "||a.example^" # x\n# end\nlists: []\n',
  'deep entries': "rules:\n      - '||a.example^'   # one\n\n      # two\n",
  'a key without a value': '# top\nrules: # none\n\n# dns\ndns:\n  threads: 1 # one\n',
};

for (const [name, text] of Object.entries(KEEPING)) {
  for (const [kind, end, mark] of [
    ['LF', '\n', ''],
    ['CRLF', '\r\n', ''],
    ['CRLF and a BOM', '\r\n', '\uFEFF'],
  ] as const) {
    test(`one rule more: ${name}, ${kind}: every other byte stays`, () => {
      const before = mark + text.replaceAll('\n', end);
      const { rules } = readSettings(before, 'f').config;
      const change = { kind: 'append', entry: '||new.example^' } as const;
      const after = editSection(before, 'rules', change, [...rules, '||new.example^']).text;
      const added = after.split(end).filter((line) => line.includes('new.example'));
      assert.equal(added.length, 1);
      assert.equal(after.replace(`${added[0] ?? ''}${end}`, ''), before);
    });
  }
}

test('removing and exchanging an entry leaves the others and their comments', () => {
  const before =
    'rules: # mine\r\n  - "||a.example^" # one\r\n  - b.example   # two\r\n  # end\r\n';
  const removed = editSection(before, 'rules', { kind: 'remove', index: 0 }, ['b.example']);
  assert.equal(removed.text, 'rules: # mine\r\n  - b.example   # two\r\n  # end\r\n');
  const entry = 'c.example';
  const exchanged = editSection(before, 'rules', { kind: 'replace', index: 1, entry }, [
    '||a.example^',
    entry,
  ]);
  assert.equal(exchanged.text, before.replace('b.example', '"c.example"'));
});

test('mixed line ends stay as they are, and a new line gets the usual one', () => {
  const before = 'rules:\r\n  - a.example\n  - b.example\r\n# end\r\n';
  const change = { kind: 'append', entry: 'c.example' } as const;
  const wanted = ['a.example', 'b.example', 'c.example'];
  const { text } = editSection(before, 'rules', change, wanted);
  assert.equal(text, before.replace('# end', '  - "c.example"\r\n# end'));
});
