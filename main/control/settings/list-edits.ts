/**
 * Plans changes to the lists section of the settings. Pure; run inside an edit of the config store.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Config, ListSource } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { pathText } from '../../contract/schema-text.ts';
import type { EditPlan } from './config-store.ts';
import { sourceConflict } from './settings-conflicts.ts';

type ListPlan = EditPlan<'lists'> | undefined;

/** @throws AppError LIST_EXISTS, ARGUMENT_INVALID, TOO_MANY */
export function planAddList({ lists }: Config, source: ListSource): ListPlan {
  const conflict = sourceConflict(source);
  if (conflict) {
    throw new AppError('ARGUMENT_INVALID', `${pathText(conflict.path)}: ${conflict.text}`);
  }
  if (lists.some(({ name }) => name === source.name)) {
    throw new AppError('LIST_EXISTS', `adding the list failed: "${source.name}" exists`);
  }
  if (lists.length >= LIMITS.listsMax) {
    throw new AppError('TOO_MANY', `adding the list failed: ${String(LIMITS.listsMax)} exist`);
  }
  return { change: { kind: 'append', entry: source }, wanted: [...lists, source] };
}

/** @throws AppError LIST_UNKNOWN */
export function planRemoveList({ lists }: Config, name: string): ListPlan {
  const index = indexOfList(lists, name);
  return { change: { kind: 'remove', index }, wanted: lists.toSpliced(index, 1) };
}

/** @throws AppError LIST_UNKNOWN */
export function planEnableList({ lists }: Config, name: string, enabled: boolean): ListPlan {
  const index = indexOfList(lists, name);
  const source = lists[index];
  if (!source || source.enabled === enabled) return undefined;
  return {
    change: { kind: 'field', index, key: 'enabled', value: enabled },
    wanted: lists.with(index, { ...source, enabled }),
  };
}

/** What a list's names are used for. */
export type ListUse = Partial<Pick<ListSource, 'action' | 'match' | 'allowWide'>>;

/** What is as usual does not stand in the file. @throws AppError LIST_UNKNOWN */
export function planChangeList({ lists }: Config, name: string, use: ListUse): ListPlan {
  const index = indexOfList(lists, name);
  const before = lists[index] as ListSource;
  const { action, match, allowWide, ...source } = { ...before, ...use };
  const entry: ListSource = {
    ...source,
    ...(action === 'allow' && { action }),
    ...(match === 'exact' && { match }),
    ...(allowWide === true && { allowWide }),
  };
  if (isDeepStrictEqual(entry, before)) return undefined;
  return { change: { kind: 'replace', index, entry }, wanted: lists.with(index, entry) };
}

function indexOfList(lists: readonly ListSource[], name: string): number {
  const index = lists.findIndex((list) => list.name === name);
  if (index < 0) throw new AppError('LIST_UNKNOWN', `no list has the name "${name}"`);
  return index;
}
