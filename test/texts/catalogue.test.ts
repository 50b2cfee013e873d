/** Every sentence of the catalogue, in every language: present, translated and well-formed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CATALOGUE } from '../../main/texts/catalogue.ts';

type Sentence = readonly [key: string, text: string];

/** Sample arguments: a function takes numbers, texts, or both. */
const NUMBERS = [0, 1, 2, 12_345];

/** Keys whose German sentence may be the English one: names, units, and words both share. */
const SAME = new Set<string>([
  'activity.minutes',
  'activity.noMatchHint.after',
  'backup.timesSkipped',
  'backup.sections.clients',
  'cli.lists.url',
  'cli.check.took',
  'queries.columns.name',
  'queries.columns.client',
  'queries.matched',
  'clients.title',
  'clients.parts.clients',
  'clients.name',
  'clients.tags',
  'health.running',
  'health.log',
  'health.resident',
  'health.version',
  'health.server',
  'lists.name',
  'lists.format',
  'lists.formats.unbound',
  'network.owners.systemd-resolved',
  'network.owners.networkmanager',
  'network.owners.resolvconf',
  'network.owners.macos',
  'network.owners.windows',
  'network.journal',
  'policies.columns.clients',
  'policies.name',
  'policies.domains',
  'policies.clients',
  'rules.domain',
  'rules.check.took',
  'services.categories.video',
  'services.categories.dating',
  'services.records.name',
  'services.records.ttl',
  'services.records.seconds',
  'shell.pages.log',
  'shell.pages.clients',
  'shell.groups.filter',
  'shell.groups.system',
  'shell.languages.en',
  'shell.languages.de',
]);

function sentencesOf(value: unknown, key: string): Sentence[] {
  if (typeof value === 'string') return [[key, value]];
  if (typeof value === 'function') {
    const say = value as (...args: unknown[]) => string;
    return NUMBERS.map((sample) => [
      `${key}(${String(sample)})`,
      say(...(Array(4).fill(sample) as unknown[])),
    ]);
  }
  assert.ok(typeof value === 'object' && value !== null, key);
  return Object.entries(value).flatMap(([name, inner]) =>
    sentencesOf(inner, key === '' ? name : `${key}.${name}`),
  );
}

const english = new Map(sentencesOf(CATALOGUE.en, ''));
const german = new Map(sentencesOf(CATALOGUE.de, ''));

describe('the catalogue', () => {
  test('German has the keys of English and no others', () => {
    assert.deepEqual([...german.keys()].sort(), [...english.keys()].sort());
  });

  for (const [language, sentences] of Object.entries({ en: english, de: german })) {
    test(`${language}: every sentence is well-formed`, () => {
      const faults = [...sentences].filter(([, text]) => isMalformed(text));
      assert.deepEqual(faults, []);
    });
  }

  test('an ellipsis follows a word directly in English, and after a space in German', () => {
    const wrong = [
      ...[...english].filter(([, text]) => / …/.test(text)),
      ...[...german].filter(([, text]) => /[^\s/]…/.test(text) && !text.includes('://…')),
    ];
    assert.deepEqual(wrong, []);
  });

  test('every German sentence is translated', () => {
    const same = [...german]
      .filter(([key, text]) => english.get(key) === text)
      .map(([key]) => key.replace(/\(.*$/, ''));
    assert.deepEqual(
      [...new Set(same)].filter((key) => !SAME.has(key)),
      [],
    );
  });

  test('what is allowed to be the same is the same', () => {
    const keys = [...SAME].filter(
      (key) =>
        ![...german].some(
          ([one, text]) => one.replace(/\(.*$/, '') === key && english.get(one) === text,
        ),
    );
    assert.deepEqual(keys, []);
  });
});

/** Empty, with stray spaces, or with a placeholder that was not filled in. */
function isMalformed(text: string): boolean {
  return (
    text.trim() === '' ||
    / {2}/.test(text) ||
    text !== text.trim() ||
    /\$\{|undefined|NaN|\[object|TO-DO/.test(text)
  );
}
