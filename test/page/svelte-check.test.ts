/**
 * svelte-check over the window, with warnings as errors; and canaries that prove that it checks at
 * all: a broken component must fail, by its types and by its accessibility.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../', import.meta.url));

function check(tsconfig: string, folder: string): { status: number | null; output: string } {
  const program = join(root, 'node_modules/svelte-check/bin/svelte-check');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [program, '--workspace', folder, '--tsconfig', tsconfig, '--fail-on-warnings'],
    { cwd: root, encoding: 'utf8' },
  );
  return { status, output: stdout + stderr };
}

/** Checks one component alone in a folder of its own. */
function checkComponent(source: string): { status: number | null; output: string } {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-canary-'));
  try {
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    writeFileSync(join(folder, 'Canary.svelte'), source);
    const settings = { extends: join(root, 'renderer/tsconfig.json'), include: ['.'] };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(settings));
    return check(join(folder, 'tsconfig.json'), folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('the window passes svelte-check without a warning', () => {
  const { status, output } = check(join(root, 'renderer/tsconfig.json'), root);
  assert.equal(status, 0, output);
  assert.match(output, /0 errors and 0 warnings/);
});

test('a sound component passes alone', () => {
  const { status, output } = checkComponent(
    '<script lang="ts">const a: number = 1;</script>\n{a}\n',
  );
  assert.equal(status, 0, output);
});

test('a wrong type fails', () => {
  const { status, output } = checkComponent(
    '<script lang="ts">const a: number = "x";</script>\n{a}\n',
  );
  assert.notEqual(status, 0);
  assert.match(output, /not assignable to type 'number'/);
});

test('a global of Node fails', () => {
  const { status, output } = checkComponent(
    '<script lang="ts">const a = process.pid;</script>\n{a}\n',
  );
  assert.notEqual(status, 0);
  assert.match(output, /process/);
});

test('a fault in accessibility fails', () => {
  const { status, output } = checkComponent('<div onclick={() => undefined}>press</div>\n');
  assert.notEqual(status, 0);
  assert.match(output, /a11y/);
});
