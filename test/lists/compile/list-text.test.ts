/** A list that is read window by window is the same list. */
import assert from 'node:assert/strict';
import { truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import {
  hashOf,
  headOf,
  openTextFile,
  type ListText,
} from '../../../main/lists/compile/list-text.ts';
import { parseList, type ListReport } from '../../../main/lists/compile/parse-list.ts';
import { NO_SINK } from '../../../main/lists/formats/rule-sink.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { textOf } from '../list-fixtures.ts';

const bytesOf = (text: string): Uint8Array => new Uint8Array(Buffer.from(text));

interface Read {
  readonly report: ListReport;
  readonly names: readonly string[];
}

function read(text: Uint8Array | ListText): Read {
  const names: string[] = [];
  const report = parseList(
    text,
    { format: 'auto' },
    {
      ...NO_SINK,
      addName: (name, flags, line, terms) => {
        names.push(`${String(line)} ${name.text}`);
        return NO_SINK.addName(name, flags, line, terms);
      },
    },
  );
  return { report, names };
}

const LONG = 'x'.repeat(600_000);
const TEXTS: Record<string, string> = {
  empty: '',
  'one line': 'a.example',
  'only a mark': '\ufeff',
  'a mark, and line feeds of both kinds': '\ufeffa.example\r\n\n b.example \nc.example',
  'comments longer than a window': `${'# text\n'.repeat(60_000)}||a.example^\n@@||b.example^\n`,
  'a line longer than two windows': `a.example\n${LONG}\nb.example\n`,
  'a long line without an end': `a.example\n${LONG}`,
  'a name behind many blanks': `a.example\n${' '.repeat(600_000)}b.example\nc.example\n`,
  'lines across the ends of windows': Array.from(
    { length: 60_000 },
    (_, index) => `n${String(index)}.${'y'.repeat(index % 50)}z.example\n`,
  ).join(''),
};

for (const [what, text] of Object.entries(TEXTS)) {
  test(`${what}: lines, verdicts, examples and names are those of the whole text`, async (t) => {
    const bytes = bytesOf(text);
    const whole = read(bytes);
    assert.deepEqual(read(textOf(bytes)), whole);
    assert.deepEqual(read(textOf(bytes, 4_099)), whole, 'reads that give less than asked for');
    const path = join(await tempDir(t), 'list.txt');
    writeFileSync(path, bytes);
    const file = openTextFile(path);
    t.after(() => {
      file.close();
    });
    assert.deepEqual(read(file), whole);
    assert.equal(hashOf(file), hashOf(textOf(bytes, 4_099)));
    assert.deepEqual(headOf(file, 100), bytes.subarray(0, 100));
  });
}

test('a file above the bound is refused before it is read', async (t) => {
  const path = join(await tempDir(t), 'large.txt');
  writeFileSync(path, '');
  truncateSync(path, LIMITS.listBytesMax + 1);
  assert.throws(() => openTextFile(path), /larger than 64 MiB/);
});
