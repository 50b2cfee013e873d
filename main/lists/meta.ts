/**
 * What is remembered about each list between two runs, and its file form. Plain data; read and
 * written by store.ts.
 */
import { createHash } from 'node:crypto';
import type { IgnoredLines } from './parse-list.ts';

/** A raw copy on disk that was accepted once. */
export interface CopyMeta {
  /** URL that it came from. */
  readonly url: string;
  readonly sha256: string;
  readonly bytes: number;
  readonly etag: string;
  /** HTTP date; of local files, their time and size. */
  readonly lastModified: string;
  readonly fetchedAtMs: number;
  /** Names in the text, repetitions included; what the next copy is compared with. */
  readonly namesRead: number;
}

export interface ListMeta {
  /** 1..LIST_ID_MAX. Stays with the list, also after its removal while it is remembered. */
  readonly id: number;
  readonly name: string;
  readonly url: string;
  /** Removed from the settings: only id and name are kept. */
  readonly isRetired: boolean;
  readonly current: CopyMeta | null;
  readonly previous: CopyMeta | null;
  readonly checkedAtMs: number | null;
  /** Failed attempts since the last good one. */
  readonly failures: number;
  /** Why the last attempt failed; '' when it did not. */
  readonly error: string;
  /** Of the compiled copy: detected dialect, distinct names, ignored lines. */
  readonly format: string;
  readonly names: number;
  readonly ignored: readonly IgnoredLines[];
}

export const LIST_ID_MAX = 59_999;

/** A list that was never fetched. */
export function newListMeta(id: number, name: string, url: string): ListMeta {
  return {
    id,
    name,
    url,
    isRetired: false,
    current: null,
    previous: null,
    checkedAtMs: null,
    failures: 0,
    error: '',
    format: '',
    names: 0,
    ignored: [],
  };
}

/** File form: JSON with a checksum over the inner part, which also catches a changed digit. */
export function writeMeta(lists: readonly ListMeta[]): string {
  return JSON.stringify({ version: 1, sha256: checksum(lists), lists }, null, 1);
}

/** The lists of a meta file; null when the text is damaged or of another version. */
export function readMeta(text: string): ListMeta[] | null {
  let value: { version?: unknown; sha256?: unknown; lists?: unknown } | null;
  try {
    value = JSON.parse(text) as typeof value;
  } catch {
    return null; // The caller falls back to the older file.
  }
  if (value?.version !== 1 || !Array.isArray(value.lists)) return null;
  // A right checksum proves that writeMeta wrote it, so the shapes need no second check.
  return value.sha256 === checksum(value.lists) ? (value.lists as ListMeta[]) : null;
}

function checksum(lists: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(lists)).digest('hex');
}
