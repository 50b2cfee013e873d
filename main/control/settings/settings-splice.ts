/**
 * Changes single entries of a list in the settings text by touching their own characters alone:
 * every other line, its comments, indentation and quotes stay as a person wrote them. Called by
 * settings-edit.ts, which reads the result back and has other ways where this one does not fit.
 */
import { Document, isAlias, isMap, isScalar, isSeq, parseDocument, type YAMLSeq } from 'yaml';
import type { Change, Section } from './settings-edit.ts';

/**
 * @param text  valid settings whose lines end in LF
 * @throws Error  where the entries have no lines or characters of their own
 */
export function spliceEntry(text: string, section: Section, change: Change): string {
  const node = parseDocument(text, { prettyErrors: false }).get(section, true) as unknown;
  if (isAlias(node)) throw notHere();
  if (change.kind === 'append') return append(text, section, node, entryText(change.entry));
  if (!isSeq(node)) throw notHere();
  switch (change.kind) {
    case 'replace':
      return exchangeNode(text, node.items[change.index], entryText(change.entry));
    case 'remove':
      return removeLines(text, node, change.index);
    case 'field':
      return setField(text, node.items[change.index], change.key, change.value);
    default:
      throw notHere();
  }
}

function append(text: string, section: Section, node: unknown, entry: string): string {
  if (isSeq(node) && node.items.length > 0) {
    const last = rangeOf(node.items.at(-1));
    if (node.flow === true) return insert(text, last.end, `, ${entry}`);
    const indent = /^( *)- /.exec(lineAt(text, last.start))?.[1];
    if (indent === undefined) throw notHere();
    return insertLine(text, lineEnd(text, last.end - 1), `${indent}- ${entry}`);
  }
  const { start, end } = emptyValue(text, section, node);
  const before = text.slice(0, start).trimEnd();
  const plain = before + text.slice(end).replace(/^[ \t]+(?=\n|$)/, '');
  return appendFirst(plain, before.length, entry);
}

/** Where the value of a section without entries stands: nothing, or `[]`. */
function emptyValue(text: string, section: Section, node: unknown) {
  const key = new RegExp(`^${section}:`, 'm').exec(text);
  if (!key) throw notHere();
  const after = key.index + key[0].length;
  if (isSeq(node) && node.flow === true) {
    const { start, end } = rangeOf(node);
    if (/^\[\s*\]$/.test(text.slice(start, end))) return { start, end };
  }
  if (isScalar(node) && node.value === null && node.source === '')
    return { start: after, end: after };
  throw notHere();
}

/** The first entry goes behind comments that stand where entries would: they may be some, put out. */
function appendFirst(text: string, keyAt: number, entry: string): string {
  let at = lineEnd(text, keyAt);
  let indent = '  ';
  for (;;) {
    const comment = /^\n([ \t]+)#[^\n]*/.exec(text.slice(at));
    if (!comment) break;
    indent = comment[1] ?? indent;
    at += comment[0].length;
  }
  return insertLine(text, at, `${indent}- ${entry}`);
}

function removeLines(text: string, node: YAMLSeq, index: number): string {
  const { start, end } = rangeOf(node.items[index]);
  const from = lineStart(text, start);
  if (node.flow === true || !/^ *- +$/.test(text.slice(from, start))) throw notHere();
  const to = lineEnd(text, end - 1);
  return text.slice(0, from) + text.slice(to + 1);
}

function setField(text: string, entry: unknown, key: string, value: unknown): string {
  if (!isMap(entry)) throw notHere();
  const found = entry.items.find((pair) => isScalar(pair.key) && pair.key.value === key);
  if (found) return exchangeNode(text, found.value, entryText(value));
  const last = rangeOf(entry.items.at(-1)?.value);
  if (entry.flow !== true) throw notHere();
  return insert(text, last.end, `, ${key}: ${entryText(value)}`);
}

function exchangeNode(text: string, node: unknown, fresh: string): string {
  const { start, end } = rangeOf(node);
  if (text.slice(start, end).includes('\n')) throw notHere();
  return text.slice(0, start) + fresh + text.slice(end);
}

/** On one line, as the settings show entries: a text in quotes, a mapping in braces. */
function entryText(entry: unknown): string {
  const alone = new Document();
  const node = alone.createNode(entry, { flow: true });
  if (isScalar(node) && typeof node.value === 'string') node.type = 'QUOTE_DOUBLE';
  alone.contents = node as never;
  const text = alone.toString({ lineWidth: 0 }).trimEnd();
  if (text.includes('\n')) throw notHere();
  return text;
}

function rangeOf(node: unknown): { readonly start: number; readonly end: number } {
  const range = (node as { range?: [number, number, number] | null } | null | undefined)?.range;
  if (!range || range[1] <= range[0]) throw notHere();
  return { start: range[0], end: range[1] };
}

function insert(text: string, at: number, piece: string): string {
  return text.slice(0, at) + piece + text.slice(at);
}

function insertLine(text: string, at: number, line: string): string {
  return insert(text, at, at === text.length ? `\n${line}\n` : `\n${line}`);
}

function lineAt(text: string, at: number): string {
  return text.slice(lineStart(text, at), lineEnd(text, at));
}

function lineStart(text: string, at: number): number {
  return text.lastIndexOf('\n', at - 1) + 1;
}

/** Of the line break, or of the end of the text. */
function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at);
  return end < 0 ? text.length : end;
}

function notHere(): Error {
  return new Error('the entries have no characters of their own');
}
