/**
 * Changes one section of the settings text and leaves every other byte and comment as it was.
 *
 * A change of one entry touches that entry's characters alone (settings-splice.ts). Other changes are
 * made on the parsed document: only the text of the edited section is written anew and put in place
 * of the old one; where that does not read back as wanted (flow style at the
 * root, anchors, odd comments), the whole document is written anew, comments included, and in the
 * last resort the section alone is replaced by its plain value. Called by control/settings/config-store.ts.
 */
import { isDeepStrictEqual } from 'node:util';
import { Document, isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { Pair, ParsedNode } from 'yaml';
import type { Config } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import { editKeepingLineEnds } from './line-ends.ts';
import { spliceEntry } from './settings-splice.ts';
import { readSettings } from './settings-text.ts';

/** The sections that the program edits. */
export type Section =
  | 'rules'
  | 'lists'
  | 'policies'
  | 'clients'
  | 'groups'
  | 'records'
  | 'services'
  | 'safeSearch'
  | 'bypass';

/** One change to a section: to its list of entries, or to its keys. */
export type Change =
  | { readonly kind: 'append'; readonly entry: unknown }
  | { readonly kind: 'replace'; readonly index: number; readonly entry: unknown }
  | { readonly kind: 'remove'; readonly index: number }
  | {
      readonly kind: 'field';
      readonly index: number;
      readonly key: string;
      readonly value: unknown;
    }
  /** Keys of a section that is a mapping. */
  | { readonly kind: 'keys'; readonly values: Readonly<Record<string, unknown>> }
  /** The section as a whole. */
  | { readonly kind: 'whole' };

const WRITE = { lineWidth: 0 } as const;

/** Settings after an edit: as text, and as they read. */
export interface EditedSettings {
  readonly text: string;
  readonly config: Config;
}

/**
 * The old text is parsed once and the new one once: with thousands of rules that is most of the work.
 *
 * @param text    valid settings
 * @param wanted  the section as it must read afterwards, defaults filled in
 * @returns       valid settings whose section equals `wanted`
 * @throws        AppError INTERNAL when no way of writing it reads back as wanted
 */
export function editSection<Name extends Section>(
  text: string,
  section: Name,
  change: Change,
  wanted: Config[Name],
): EditedSettings {
  for (const attempt of [
    (plain: string) => spliceEntry(plain, section, change),
    (plain: string) => spliced(plain, section, change, wanted),
    (plain: string) => changed(read(plain), section, change, wanted).toString(WRITE),
    (plain: string) => replaced(plain, section, wanted).toString(WRITE),
  ]) {
    const result = tryTo(() => editKeepingLineEnds(text, attempt));
    const config = result === undefined ? undefined : readAs(result, section, wanted);
    if (result !== undefined && config !== undefined) return { text: result, config };
  }
  throw new AppError('INTERNAL', `editing the section ${section} of the settings did not work`);
}

function tryTo(attempt: () => string): string | undefined {
  try {
    return attempt();
  } catch {
    // There is no such way with this text, or the yaml package refuses: the next one is plainer.
    return undefined;
  }
}

/** The settings, when the section reads as wanted. */
function readAs<Name extends Section>(
  text: string,
  section: Name,
  wanted: Config[Name],
): Config | undefined {
  try {
    const { config } = readSettings(text, 'settings');
    return isDeepStrictEqual(config[section], wanted) ? config : undefined;
  } catch {
    // Not valid settings: this attempt has failed, and the caller makes the next one.
    return undefined;
  }
}

function read(text: string): Document.Parsed {
  return parseDocument(text, { prettyErrors: false });
}

/** Changes the document. */
function changed(
  document: Document.Parsed,
  section: Section,
  change: Change,
  wanted: unknown,
): Document.Parsed {
  const node = document.get(section, true) as unknown;
  if (isMap(node) && change.kind === 'keys') return withKeys(document, section, change.values);
  const hasEntries = isSeq(node) && !isAlias(node) && node.items.length > 0;
  if (!hasEntries || change.kind === 'whole' || change.kind === 'keys') {
    document.set(section, document.createNode(wanted));
    return document;
  }
  switch (change.kind) {
    case 'append':
      node.add(entryNode(document, change.entry, node.flow === true));
      break;
    case 'replace':
      node.set(change.index, entryNode(document, change.entry, node.flow === true));
      break;
    case 'remove':
      node.delete(change.index);
      break;
    case 'field':
      document.setIn([section, change.index, change.key], change.value);
      break;
  }
  return document;
}

function withKeys(
  document: Document.Parsed,
  section: Section,
  values: Readonly<Record<string, unknown>>,
): Document.Parsed {
  for (const [key, value] of Object.entries(values)) document.setIn([section, key], value);
  return document;
}

/** A mapping entry is written as the settings show them: { name: …, url: … } on one line. */
function entryNode(document: Document.Parsed, entry: unknown, inFlow: boolean): ParsedNode {
  const isText = typeof entry === 'string';
  const node = document.createNode(entry, { flow: !isText || inFlow }) as ParsedNode;
  if (isScalar(node) && isText) node.type = 'QUOTE_DOUBLE';
  return node;
}

function replaced(text: string, section: Section, wanted: unknown): Document.Parsed {
  const document = read(text);
  document.set(section, document.createNode(wanted));
  return document;
}

/** The old text with the section's own text exchanged. @throws when it has no place of its own */
function spliced(text: string, section: Section, change: Change, wanted: unknown): string {
  const document = read(text);
  const place = sectionRange(document, section);
  const root = changed(document, section, change, wanted).contents;
  const pair =
    isMap(root) && root.flow !== true
      ? root.items.find((item) => isScalar(item.key) && item.key.value === section)
      : undefined;
  if (!pair) throw new Error('the section has no place of its own');
  const fresh = pairText(pair, place !== undefined);
  if (place) return exchange(text, place, fresh);
  return `${text === '' || text.endsWith('\n') ? text : `${text}\n`}${fresh}`;
}

interface Place {
  readonly start: number;
  readonly end: number;
}

/** Where a section stands in the text: from its key to what the parser counts to its value. */
function sectionRange({ contents: root }: Document.Parsed, section: Section): Place | undefined {
  if (!isMap(root)) return undefined;
  const pair = root.items.find((item) => isScalar(item.key) && item.key.value === section);
  if (!pair?.value) return undefined;
  return { start: pair.key.range[0], end: pair.value.range[2] };
}

/**
 * Puts the fresh section in the place of the old one. Comments at the left edge after it belong to
 * what follows, though the parser counts them to the section and would indent them: they stay.
 */
function exchange(text: string, { start, end }: Place, fresh: string): string {
  const [old, foreign] = splitTail(text.slice(start, end), /^(#.*|[ \t]*)$/);
  const wanted = commentsOf(foreign);
  const [kept, tail] = wanted.length === 0 ? [fresh, []] : splitTail(fresh, /^[ \t]*(#.*)?$/);
  const dropped = commentsOf(tail);
  const own = dropped.slice(0, dropped.length - wanted.length);
  if (!isDeepStrictEqual(dropped.slice(own.length), wanted)) throw new Error('comments moved');
  const ownLines = tail.slice(0, own.length === 0 ? 0 : indexOfComment(tail, own.length));
  const body = onKeyLine(old, [kept, ...ownLines].join('\n'));
  const needsEnd = old.endsWith('\n') || foreign.length > 0;
  const whole = needsEnd && !body.endsWith('\n') ? `${body}\n` : body;
  return text.slice(0, start) + whole + foreign.join('\n') + text.slice(end);
}

/** Puts a comment that stood behind the key there again: the yaml package moves it below. */
function onKeyLine(old: string, fresh: string): string {
  const comment = /^[^\s:]+:[ \t]+(#[^\n]*)/.exec(old)?.[1];
  if (comment === undefined) return fresh;
  const [key = '', next = '', ...rest] = fresh.split('\n');
  return next.trim() === comment ? [`${key} ${comment}`, ...rest].join('\n') : fresh;
}

/** Takes the lines at the end that match off a text. @returns the rest, and those lines */
function splitTail(text: string, pattern: RegExp): [string, string[]] {
  const lines = text.split('\n');
  let first = lines.length;
  while (first > 1 && pattern.test(lines[first - 1] ?? '')) first--;
  return [lines.slice(0, first).join('\n'), lines.slice(first)];
}

function commentsOf(lines: readonly string[]): string[] {
  return lines.map((line) => line.trim()).filter((line) => line !== '');
}

/** Index after the comment number `count` of these lines. */
function indexOfComment(lines: readonly string[], count: number): number {
  let seen = 0;
  for (const [index, line] of lines.entries()) {
    if (line.trim() !== '') seen++;
    if (seen === count) return index + 1;
  }
  return lines.length;
}

/** One key with its value as YAML, without the comment above the key, which is outside the range. */
function pairText(pair: Pair, keepsPlace: boolean): string {
  const alone = new Document({});
  if (!isMap(alone.contents)) throw new Error('a new document holds no map');
  if (keepsPlace && isScalar(pair.key)) {
    delete pair.key.commentBefore;
    delete pair.key.spaceBefore;
  }
  alone.contents.flow = false;
  alone.contents.items.push(pair as never);
  return alone.toString(WRITE);
}
