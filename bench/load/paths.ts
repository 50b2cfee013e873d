/** The three ways a query can go, as loads: names to ask and what each answer must be. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { seeded } from './names.ts';
import type { Data } from './target.ts';

export const PATHS = ['blocked', 'cached', 'forwarded'] as const;
export type Path = (typeof PATHS)[number];

/** Most names in the cached load; they fit the cache. */
const CACHED_NAMES_MAX = 5_000;

/**
 * Writes the dnsperf data file of a path.
 *
 * @param queries  how many queries the run will send at most; the forwarded load has that many
 *                 different names, so that none is answered from the cache
 */
export async function writeQueries(path: Path, data: Data, queries: number): Promise<string> {
  const file = join(data.folder, `${path}.txt`);
  await writeFile(file, linesOf(path, data, queries).join('\n') + '\n');
  return file;
}

function linesOf(path: Path, data: Data, queries: number): string[] {
  const next = seeded(7);
  switch (path) {
    case 'blocked':
      return Array.from({ length: 20_000 }, () => {
        const name = data.names[next() % data.names.length] ?? '';
        return `${next() % 4 === 0 ? 'www.' : ''}${name} A`;
      });
    case 'cached':
      return Array.from(
        { length: Math.min(CACHED_NAMES_MAX, queries) },
        (_, index) => `h${String(index)}.site.example A`,
      );
    case 'forwarded': {
      const tag = next().toString(36) + String(process.hrtime.bigint() % 1_000_000n);
      return Array.from({ length: queries }, (_, index) => `n${String(index)}.${tag}.example A`);
    }
  }
}
