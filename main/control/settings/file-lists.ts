/**
 * Lists in files of this machine: whoever names one reads its lines (lists.list shows examples), and
 * the file is read with the rights of Sluice. They come into the settings by the settings file or
 * the command line on this machine; other doors see them, and may switch them off and on.
 */
import type { ListSource } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import type { Caller } from '../../contract/methods/methods.ts';

export function isFileList({ url }: Pick<ListSource, 'url'>): boolean {
  return /^file:/i.test(url);
}

/**
 * @param wanted  lists as they are to be; @param known  as they are: what is among them may stay
 * @throws        AppError LOCAL_ONLY naming the first that the caller may not bring
 */
export function requireFileRight(
  wanted: readonly ListSource[],
  known: readonly ListSource[],
  caller: Caller,
): void {
  if (caller.isLocal) return;
  const before = new Set(known.map(({ url }) => url));
  const added = wanted.find((list) => isFileList(list) && !before.has(list.url));
  if (!added) return;
  throw new AppError(
    'LOCAL_ONLY',
    `the list "${added.name}" is a file (${added.url}): add it with "sluice lists add" on the ` +
      'machine that Sluice runs on, or in its settings file',
  );
}
