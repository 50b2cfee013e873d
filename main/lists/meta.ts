/**
 * What is remembered about each list between two runs, and its file form. Plain data; read and
 * written by store.ts.
 */
import { createHash } from 'node:crypto';
import { seal, unseal } from '../system/sealed-file.ts';
import type { IgnoredLines } from './compile/parse-list.ts';

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
  /** It came from a public address: from then on, its URL leads to public ones only. */
  readonly isFromPublic?: boolean;
}

/** Why a new copy waits for a person instead of being used. */
export const HOLD_KINDS = ['replay', 'collapse', 'parse-rate', 'not-a-list'] as const;
export type HoldKind = (typeof HOLD_KINDS)[number];

/** A new copy that was not taken. */
export interface HeldCopy {
  readonly kind: HoldKind;
  /** One plain sentence part, as in `error`. */
  readonly reason: string;
  readonly copy: CopyMeta;
  /** Whether its bytes were kept, so that it can be taken anyway. */
  readonly isKept: boolean;
}

/** What replaying the names that were asked for lately said about a new copy. */
export interface ReplayFacts {
  /** Distinct names replayed. */
  readonly names: number;
  /** Of them, not blocked before. */
  readonly used: number;
  readonly newlyBlocked: number;
  readonly newlyAllowed: number;
  /** Most asked for first; at most LIMITS.replayExamplesMax each. */
  readonly blockedExamples: readonly string[];
  readonly allowedExamples: readonly string[];
}

/** The last time that another copy came into use. */
export interface ListChange {
  readonly atMs: number;
  /** Distinct names that came and went; null when there was nothing to compare with. */
  readonly added: number | null;
  readonly removed: number | null;
  /** Null when no logged queries were there to replay. */
  readonly replay: ReplayFacts | null;
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
  /** Of the compiled copy: detected dialect, distinct names, its lines by kind. */
  readonly format: string;
  readonly names: number;
  readonly lines: number;
  readonly rules: number;
  /** Blank lines, too. */
  readonly comments: number;
  readonly ignored: readonly IgnoredLines[];
  /** A new copy that waits; null without one. */
  readonly held: HeldCopy | null;
  /** SHA-256 of the copy that a person rolled back; it is not taken again. '' without one. */
  readonly rolledBack: string;
  readonly change: ListChange | null;
}

/** What is kept of a list in a backup, where its copies are not. */
export type ListMemory = Pick<
  ListMeta,
  'name' | 'url' | 'rolledBack' | 'change' | 'format' | 'names' | 'current' | 'previous'
>;

export function memoryOf(meta: ListMeta): ListMemory {
  const { name, url, rolledBack, change, format, names, current, previous } = meta;
  return { name, url, rolledBack, change, format, names, current, previous };
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
    lines: 0,
    rules: 0,
    comments: 0,
    ignored: [],
    held: null,
    rolledBack: '',
    change: null,
  };
}

/** Every copy that a list has on disk. */
export function copiesOf({ current, previous, held }: ListMeta): CopyMeta[] {
  const waiting = held?.isKept === true ? held.copy : null;
  return [current, previous, waiting].filter((copy) => copy !== null);
}

const KIND = 'lists';

/** File form: sealed JSON. */
export function writeMeta(lists: readonly ListMeta[]): string {
  return seal(KIND, `${JSON.stringify({ version: 2, lists }, null, 1)}\n`);
}

/** The lists of a meta file; null when it is damaged or of a version that is not known. */
export function readMeta(bytes: Buffer): ListMeta[] | null {
  const { state, ...rest } = unseal(KIND, bytes);
  if (!('text' in rest)) return null;
  let value: { version?: unknown; sha256?: unknown; lists?: unknown } | null;
  try {
    value = JSON.parse(rest.text) as typeof value;
  } catch {
    return null; // The caller falls back to the older file.
  }
  if (!Array.isArray(value?.lists)) return null;
  // Version 1 had its hash inside. A right hash proves that this program wrote the file, so the
  // shapes need no second check; an older one wrote fewer fields.
  const isWhole =
    state === 'whole'
      ? value.version === 2
      : value.version === 1 && value.sha256 === checksum(value.lists);
  if (!isWhole) return null;
  const lists = value.lists as ListMeta[];
  return lists.map((meta) => ({ ...newListMeta(meta.id, meta.name, meta.url), ...meta }));
}

function checksum(lists: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(lists)).digest('hex');
}
