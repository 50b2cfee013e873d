/**
 * Keeps V8's compiled code of the program in the data folder, so that the next start does not
 * compile it again: a third less time to the first answer. Called by headless.ts first of all.
 *
 * Builds only, and from Node 22.1 on. One folder a build; those of other builds are removed.
 */
import { existsSync, rmSync } from 'node:fs';
import * as nodeModule from 'node:module';
import { join } from 'node:path';
import { makeFolder } from './data-folder.ts';
import { buildId } from './resources.ts';

/** Whatever fails here costs time only; compose.ts tells what is wrong with the data folder. */
export function keepCompiledCode(dataDirectory: string): void {
  const build = buildId();
  const enable = (nodeModule as Partial<typeof nodeModule>).enableCompileCache;
  if (build === null || enable === undefined) return;
  const root = join(dataDirectory, 'cache');
  const folder = join(root, build.slice(0, 16));
  try {
    if (!existsSync(folder)) rmSync(root, { recursive: true, force: true });
    makeFolder(folder);
  } catch {
    return; // a data folder that takes no files
  }
  enable(folder);
  process.env['NODE_COMPILE_CACHE'] = folder; // for the threads
}
