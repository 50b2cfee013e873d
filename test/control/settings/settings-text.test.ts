/**
 * The settings check against folders of good and bad files. They are .txt so that no formatter touches them. The first line of a bad file is the
 * message it must give, without the file's name.
 */
import assert from 'node:assert/strict';
import { networkInterfaces } from 'node:os';
import { readFileSync, readdirSync } from 'node:fs';
import { test } from 'node:test';
import { configSchema } from '../../../main/contract/config.ts';
import { AppError } from '../../../main/contract/errors.ts';
import { LIMITS } from '../../../main/contract/limits.ts';
import { resourcePath } from '../../../main/control/process/resources.ts';
import { readSettings } from '../../../main/control/settings/settings-text.ts';

const FOLDER = new URL('', import.meta.url);

function files(kind: 'good' | 'bad') {
  const folder = new URL(`${kind}/`, FOLDER);
  return readdirSync(folder).map((name) => ({
    name,
    text: readFileSync(new URL(name, folder), 'utf8'),
  }));
}

function failure(text: string): AppError {
  try {
    readSettings(text, 'FILE');
  } catch (error) {
    assert.ok(error instanceof AppError, String(error));
    return error;
  }
  throw new assert.AssertionError({ message: 'the settings were accepted' });
}

for (const { name, text } of files('good')) {
  test(`good settings: ${name}`, () => {
    assert.equal(readSettings(text, name).config.http.listen.endsWith(':8053'), true);
  });
}

for (const { name, text } of files('bad')) {
  test(`bad settings: ${name}`, () => {
    const expected = /^# says: (\d+: )?(.*)\n/.exec(text);
    assert.ok(expected, 'the file says what to expect');
    const place = expected[1] === undefined ? 'FILE: ' : `FILE:${expected[1]}`;
    const error = failure(text);
    assert.equal(error.message, place + (expected[2] ?? ''));
    assert.equal(error.code, 'CONFIG_INVALID');
  });
}

test('values in messages are shortened and stay on one line', () => {
  const { message } = failure(`blocking: { answer: "${'x\\n'.repeat(500)}" }`);
  assert.doesNotMatch(message, /\n/);
  assert.ok(message.length < 250, message);
});

test('a file beyond the bound is refused before it is parsed', () => {
  const { message } = failure('#'.repeat(LIMITS.settingsBytesMax + 1));
  assert.match(message, /longer than \d+ bytes/);
});

test('billions of laughs are refused', () => {
  const levels = Array.from({ length: 9 }, (_, level) =>
    level === 0
      ? 'a0: &a0 ["x","x","x","x","x","x","x","x","x"]'
      : `a${String(level)}: &a${String(level)} [${Array(9)
          .fill(`*a${String(level - 1)}`)
          .join(',')}]`,
  );
  assert.match(failure(levels.join('\n')).message, /^FILE/);
});

test('the template says exactly the defaults', () => {
  const template = readFileSync(resourcePath('sluice.yaml'), 'utf8');
  assert.deepEqual(readSettings(template, 'template').config, configSchema.parse({}));
});

test('an upstream that is an address of this machine, while all of them are listened on', (t) => {
  const own = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  if (own === undefined) {
    t.skip('needs a network interface with an IPv4 address');
    return;
  }
  const text = (port: number) =>
    `dns: { listen: ["0.0.0.0:53"], upstreams: ["${own}:${String(port)}"] }`;
  assert.throws(
    () => readSettings(text(53), 'x'),
    /dns\.upstreams\[0\]: .* Sluice itself listens on/,
  );
  assert.doesNotThrow(() => readSettings(text(5353), 'x'));
});
