/** The `language` key of the settings, and the catalogue that answers to it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configSchema } from '../../main/contract/config.ts';
import { CATALOGUE } from '../../main/texts/catalogue.ts';
import { LANGUAGE_CHOICES, LANGUAGES } from '../../main/texts/language/language.ts';

test('the setting takes every language of the catalogue, and "auto"; nothing else', () => {
  assert.equal(configSchema.parse({}).language, 'auto');
  for (const language of LANGUAGE_CHOICES) {
    assert.equal(configSchema.parse({ language }).language, language);
  }
  for (const language of ['fr', 'DE', '', null]) {
    assert.ok(!configSchema.safeParse({ language }).success, String(language));
  }
  assert.deepEqual(Object.keys(CATALOGUE).sort(), [...LANGUAGES].sort());
});
