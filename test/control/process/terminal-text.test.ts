/**
 * Nothing that is printed steers a terminal, whoever wrote it.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  terminalFields,
  terminalJson,
  terminalLine,
  terminalText,
} from '../../../main/control/process/terminal-text.ts';

/** All that a terminal or a reader could be misled by. */
const MARKS = [
  ...Array.from({ length: 0x20 }, (_, code) => code),
  ...Array.from({ length: 0x21 }, (_, code) => 0x7f + code),
  ...[0x061c, 0x200b, 0x200e, 0x200f, 0x2028, 0x2029, 0xfeff, 0xd800, 0xdfff],
  ...Array.from({ length: 5 }, (_, code) => 0x202a + code),
  ...Array.from({ length: 4 }, (_, code) => 0x2066 + code),
].map((code) => String.fromCharCode(code));

test('every control is replaced by one visible mark; only layout breaks lines', () => {
  for (const mark of MARKS) {
    assert.equal(terminalLine(`a${mark}b`), 'a\ufffdb', JSON.stringify(mark));
    const text = terminalText(`a${mark}b`);
    assert.equal(text, mark === '\n' ? 'a\nb' : 'a\ufffdb');
    assert.deepEqual(terminalFields({ a: [mark, { b: mark }] }), {
      a: ['\ufffd', { b: '\ufffd' }],
    });
    const json = terminalJson({ value: mark });
    assert.match(json, /^[ -~]+$/);
    if (!/\p{Cs}/u.test(mark)) assert.deepEqual(JSON.parse(json), { value: mark });
  }
});

test('what people write stays as it is', () => {
  const text = 'Tablet äöü 🙂 ü→… 日本 "x" \\ עברית';
  assert.equal(terminalLine(text), text);
  assert.deepEqual(JSON.parse(terminalJson({ text })), { text });
  assert.deepEqual(terminalFields({ a: 1, b: null, c: true, d: [2] }), {
    ...{ a: 1, b: null, c: true, d: [2] },
  });
});
