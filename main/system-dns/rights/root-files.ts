/**
 * Whether files that root runs by itself could be changed by somebody else: that person would become
 * root at the next boot. Used by port-ladder.ts before it proposes a unit, and by restore and run,
 * which say so.
 */
import { realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

const WRITABLE_BY_OTHERS = 0o022;
const STICKY = 0o1000;

/** What is needed of a file's status; replaced in tests. */
export interface FileFacts {
  readonly uid: number;
  readonly mode: number;
}

/**
 * @param paths  programs, as they are started
 * @returns      the first file, or folder above one, that a user other than root can change; '' when
 *               there is none. A path that cannot be read counts as changeable
 */
export function changeableByUsers(
  paths: readonly string[],
  facts: (path: string) => FileFacts = statSync,
  resolve: (path: string) => string = realpathSync,
): string {
  for (const path of paths) {
    try {
      const found = changeableAbove(resolve(path), facts);
      if (found !== '') return found;
    } catch {
      return path;
    }
  }
  return '';
}

function changeableAbove(path: string, facts: (path: string) => FileFacts): string {
  for (let at = path; ; at = dirname(at)) {
    const { uid, mode } = facts(at);
    // In a sticky folder, as /tmp, nobody but its owner replaces a file.
    const isOpen = (mode & WRITABLE_BY_OTHERS) !== 0 && (mode & STICKY) === 0;
    if (uid !== 0 || isOpen) return at;
    if (dirname(at) === at) return '';
  }
}

/** A sentence for root when its own program can be changed by a user; '' otherwise. */
export function rootFilesWarning(
  entry: string,
  userId: number | undefined = process.getuid?.(),
): string {
  if (userId !== 0) return '';
  const path = changeableByUsers([process.execPath, entry]);
  if (path === '') return '';
  return (
    `root runs this program and ${path} can be changed by another user, who could become root: ` +
    'for a service install it with "npm run install:system"'
  );
}
