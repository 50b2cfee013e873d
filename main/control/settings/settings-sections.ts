/**
 * Writes whole settings into the settings text: only what differs is touched, comments stay, and
 * entries are added behind those that are there. Used where many sections change at once.
 */
import { isDeepStrictEqual } from 'node:util';
import { isMap, isScalar, isSeq, parseDocument, type Document } from 'yaml';
import type { Config } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import { editKeepingLineEnds } from './line-ends.ts';
import { readSettings } from './settings-text.ts';

const WRITE = { lineWidth: 0 } as const;

/**
 * @param text    valid settings
 * @param wanted  what they must read as afterwards
 * @throws AppError INTERNAL when what is written does not read back as wanted; CONFIG_INVALID when
 *         `wanted` is not allowed
 */
export function setSections(text: string, wanted: Config): string {
  const before = readSettings(text, 'settings').config;
  if (isDeepStrictEqual(before, wanted)) return text;
  const written = editKeepingLineEnds(text, (plain) => {
    const document = parseDocument(plain, { prettyErrors: false });
    if (!isMap(document.contents)) document.contents = document.createNode({}) as never;
    merge(document, [], before, wanted);
    return document.toString(WRITE);
  });
  if (isDeepStrictEqual(readSettings(written, 'settings').config, wanted)) return written;
  throw new AppError('INTERNAL', 'writing the settings anew did not work');
}

function merge(
  document: Document,
  path: readonly string[],
  before: unknown,
  wanted: unknown,
): void {
  if (isDeepStrictEqual(before, wanted)) return;
  const node: unknown = path.length === 0 ? document.contents : document.getIn(path, true);
  if (isPlainObject(before) && isPlainObject(wanted) && (isMap(node) || node === undefined)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(wanted)])) {
      if (key in wanted) merge(document, [...path, key], before[key], wanted[key]);
      else document.deleteIn([...path, key]);
    }
  } else if (!setEntries(document, node, before, wanted)) {
    document.setIn(path, document.createNode(wanted));
  }
}

/** Writes a sequence over the one that is there; false when it has to be written anew. */
function setEntries(document: Document, node: unknown, before: unknown, wanted: unknown): boolean {
  return append(document, node, before, wanted) || exchange(document, node, before, wanted);
}

/** Adds entries behind those that are there; false when that is not what is wanted. */
function append(document: Document, node: unknown, before: unknown, wanted: unknown): boolean {
  if (!Array.isArray(before) || !Array.isArray(wanted) || !isSeq(node)) return false;
  const isLonger = before.length > 0 && startsWith(wanted, before);
  if (!isLonger || node.items.length !== before.length) return false;
  for (const entry of wanted.slice(before.length) as unknown[]) {
    node.add(document.createNode(entry, { flow: typeof entry !== 'string' }));
  }
  return true;
}

/** Other entries in the place of those there: comments of the section and of those that stay, stay. */
function exchange(document: Document, node: unknown, before: unknown, wanted: unknown): boolean {
  if (!Array.isArray(before) || !Array.isArray(wanted) || !isSeq(node)) return false;
  if (wanted.length === 0 || node.items.length !== before.length) return false;
  const old = [...node.items];
  node.items = (wanted as unknown[]).map((entry) => {
    const kept = old[before.findIndex((other) => isDeepStrictEqual(other, entry))];
    const isKept = isScalar(kept) && kept.anchor === undefined;
    return isKept ? kept : document.createNode(entry, { flow: typeof entry !== 'string' });
  });
  return true;
}

function startsWith(long: readonly unknown[], short: readonly unknown[]): boolean {
  return isDeepStrictEqual(long.slice(0, short.length), short);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
