/**
 * A folder of its own for one test, removed when the test ends.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** Makes the folder. @returns its absolute path */
export async function tempDir(t: Pick<TestContext, 'after'>): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-test-'));
  t.after(() => rm(path, { recursive: true, force: true }));
  return path;
}
