/**
 * Fetches one list from wherever its URL points, into the candidate file of the list directory.
 */
import { dirname } from 'node:path';
import type { LookupFunction } from 'node:net';
import { askDisk, requireRoom, type AskDisk } from './fetch/disk-space.ts';
import type { Fetched, ListTrust } from './fetch/download.ts';
import { copyLocalList, localPath } from './fetch/local-source.ts';
import type { CopyMeta } from './meta.ts';

export interface FetchContext {
  readonly lookup: LookupFunction;
  /** Which authorities are trusted; those of the runtime when not given. */
  readonly trust?: ListTrust | undefined;
  readonly builtinDirectory: string;
  readonly signal: AbortSignal;
  /** Default LIMITS.listFetchMs. */
  readonly fetchMs?: number | undefined;
  /** Default: asks the system. */
  readonly askDisk?: AskDisk | undefined;
}

/** Whether a list needs no network. */
export function isLocal(url: string): boolean {
  return url.startsWith('file:') || url.startsWith('builtin:');
}

/**
 * @param current  the copy in use; its validators count only if it came from the same URL
 * @returns        null when the copy in use is up to date
 * @throws AppError LIST_UNREACHABLE, LIST_REJECTED or DISK_FULL; the target file is then gone
 */
export async function fetchList(
  url: string,
  current: CopyMeta | null,
  target: string,
  context: FetchContext,
): Promise<Fetched | null> {
  const known = current?.url === url ? current : NOTHING_KNOWN;
  const makeRoom = (bytes: number): Promise<void> =>
    requireRoom(dirname(target), bytes, context.askDisk ?? askDisk);
  if (isLocal(url)) {
    const path = localPath(url, context.builtinDirectory);
    // Installed files may all bear the same time; built-in lists are small, so compare their bytes.
    return copyLocalList(path, url.startsWith('file:') ? known.lastModified : '', target, makeRoom);
  }
  const { etag, lastModified } = known;
  const { lookup, trust, signal, fetchMs } = context;
  // With node:https, some 7 MiB that an instance with local lists alone does without.
  const { downloadList } = await import('./fetch/download.ts');
  return downloadList({
    ...{ url, etag, lastModified, target, lookup, trust, signal, makeRoom },
    publicOnly: known.isFromPublic ?? false,
    timeMs: fetchMs,
  });
}

const NOTHING_KNOWN = { etag: '', lastModified: '', isFromPublic: false };
