/**
 * What the compilation of a large list takes, at its highest, beside what was there before. Held in
 * a process of its own, by what the kernel counts.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { tempDir } from '../support/temp-dir.ts';

const NAMES = 500_000;
/** What heaps and the system's own keeping of memory differ by, from one run to the next. */
const NOISE_BYTES = 8 * 1024 * 1024;
const CHILD = join(import.meta.dirname, 'memory-child.ts');

/** Writes a list of made-up names to a file that bears its hash. Returns the path. */
function writeList(directory: string, names: number): string {
  const text = Array.from({ length: names }, (_, index) => {
    const word = (Math.imul(index, 0x9e3779b1) >>> 0).toString(36);
    return `${word}.tracker${String(index % 977)}.example\n`;
  }).join('');
  const path = join(directory, createHash('sha256').update(text).digest('hex'));
  writeFileSync(path, text);
  return path;
}

const skip = process.platform === 'linux' ? false : 'VmHWM of /proc is there on Linux only';

test(
  'a compilation takes no more than the table that it makes, and not the text',
  { skip },
  async (t) => {
    const directory = await tempDir(t);
    const lists = [writeList(directory, 1_000), writeList(directory, NAMES)];
    const args = ['--expose-gc', CHILD, directory, ...lists];
    const { stdout } = await promisify(execFile)(process.execPath, args);
    const { text, table, names, peak } = JSON.parse(stdout) as Record<string, number>;
    assert.equal(names, NAMES);
    assert.ok(text !== undefined && table !== undefined && peak !== undefined);
    const bound = table + NOISE_BYTES;
    assert.ok(
      bound < table + text,
      'the list is large enough to tell whether its text is in memory',
    );
    assert.ok(peak > table / 4, `a peak of ${String(peak)} bytes was not measured right`);
    assert.ok(peak <= bound, `${String(peak)} bytes at the peak, more than ${String(bound)}`);
    t.diagnostic(`text ${String(text)}, table ${String(table)}, peak ${String(peak)} bytes`);
  },
);
