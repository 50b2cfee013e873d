import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '../../../main/contract/limits.ts';
import { refuseList } from '../../../main/lists/compile/validate.ts';

function refuse(text: string | Uint8Array, namesBefore = 0): string | null {
  const bytes = typeof text === 'string' ? new Uint8Array(Buffer.from(text)) : text;
  return refuseList(bytes, { format: 'auto' }, namesBefore);
}

function names(count: number): string {
  return Array.from({ length: count }, (_, i) => `n${i}.example\n`).join('');
}

test('takes lists', () => {
  assert.equal(refuse(names(1)), null);
  assert.equal(refuse('# hosts\n127.0.0.1 localhost\n::1 localhost\n0.0.0.0 a.example\n'), null);
  assert.equal(refuse('||a.example^\nb.example##.ad\n||c.example^$third-party\n/ad/\n'), null);
});

test('refuses what is no list, with a plain reason', () => {
  const html = '<!DOCTYPE html>\n<html><head><title>Login</title></head>\nads.example\n</html>';
  const cases: [string | Uint8Array, RegExp][] = [
    ['', /empty/],
    ['# nothing\n\n! here\n', /no rules, only comments/],
    [html, /HTML/],
    [`\ufeff \n ${html}`, /HTML/],
    ['<?xml version="1.0"?><error/>', /XML/],
    [Buffer.from(`\ufeff${names(3)}`, 'utf16le'), /UTF-16/],
    [Buffer.from(names(3), 'utf16le'), /binary/],
    [Uint8Array.from({ length: 4_096 }, (_, i) => (i * 7) % 256), /binary/],
    ['{"error": "not found"}\n', /only 0 of 1 lines are rules/],
    [`${names(3)}one two\nthree four\nfive six\nseven eight\n`, /only 3 of 7 lines are rules/],
    ['server=/a.example/9.9.9.9\nserver=/b.example/9.9.9.9\n', /another server/],
    ['a.example##.ad\nb.example##.ad\n', /only 0 of 2 .* cosmetic/],
    [new Uint8Array(LIMITS.listBytesMax + 1).fill(0x61), /larger than 64 MiB/],
  ];
  for (const [text, reason] of cases) assert.match(refuse(text) ?? 'taken', reason);
});

test('refuses a collapse below half of the names before', () => {
  assert.equal(refuse(names(50), 100), null);
  assert.match(refuse(names(49), 100) ?? '', /fell from 100 to 49 names/);
  assert.equal(refuse(names(1), 9), null, 'small lists may shrink');
});
