/**
 * The built window (dist/renderer) in memory: read once, whole and within bounds, so that a request
 * for one of its files opens nothing. Used by http-page.ts; the types of files by Electron's
 * ui-protocol.ts as well.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, stat } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { LIMITS } from '../../contract/limits.ts';

export interface PageFile {
  readonly body: Buffer;
  readonly type: string;
  /** For If-None-Match. RFC 9110 §8.8.3. */
  readonly etag: string;
  /** Its name has a hash of its content in it. */
  readonly isImmutable: boolean;
}

/** By path, as "/index.html". */
export type PageFiles = ReadonlyMap<string, PageFile>;

export const PAGE_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};

/**
 * Reads what the build wrote; links and files of other types are left out.
 *
 * @returns null when it is not built
 * @throws  the system's error; an Error when it is larger than a window of this program can be
 */
export async function readPageFiles(folder: string): Promise<PageFiles | null> {
  if ((await stat(join(folder, 'index.html')).catch(ifMissing)) === null) return null;
  const files = new Map<string, PageFile>();
  let total = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const type = PAGE_TYPES[extname(entry.name)];
    if (!entry.isFile() || type === undefined) continue;
    const file = join(entry.parentPath, entry.name);
    const body = await readFile(file);
    total += body.length;
    if (total > LIMITS.pageBytesMax || files.size >= LIMITS.pageFilesMax) {
      throw new Error(`${folder} holds more than the window`);
    }
    const path = file.slice(folder.length).replaceAll('\\', '/');
    const etag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    files.set(path, { body, type, etag, isImmutable: path.startsWith('/assets/') });
  }
  return files;
}

function ifMissing(error: NodeJS.ErrnoException): null {
  if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return null;
  throw error;
}
