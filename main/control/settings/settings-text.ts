/**
 * Reads the text of a settings file: YAML syntax, then the schema, then what a schema cannot say.
 *
 * Every failure is one AppError CONFIG_INVALID whose message is one line: file, line, key path,
 * the value, and what is allowed. Used by control/settings/config-store.ts; pure but for systems' lists.
 */
import {
  LineCounter,
  parse,
  parseDocument,
  isMap,
  isNode,
  isScalar,
  visit,
  type Document,
} from 'yaml';
import { z } from 'zod';
import { configSchema, type Config } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { findings, pathText, quote, type Finding } from '../../contract/schema-text.ts';
import { namesServices, readServices } from '../policy/services.ts';
import { settingsConflict } from './settings-conflicts.ts';

type Path = Finding['path'];

/** The text as document (with comments) and as checked settings. */
export interface Settings {
  readonly document: Document.Parsed;
  readonly config: Config;
}

/**
 * @param file  named in errors only
 * @throws      AppError CONFIG_INVALID, one line, naming the first mistake and how many follow
 */
export function readSettings(text: string, file: string): Settings {
  if (text.length > LIMITS.settingsBytesMax) {
    throw invalid(file, `the file is longer than ${String(LIMITS.settingsBytesMax)} bytes`);
  }
  if (text.includes('\0')) throw invalid(file, 'the file holds NUL bytes, so it was damaged');
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  checkSyntax(document, lines, text, file);
  const value = withoutNulls(configSchema, plainValue(document, file));
  const result = configSchema.safeParse(value);
  if (!result.success) {
    const all = findings(configSchema, value, result.error.issues);
    const hint = (path: Path, line: number): string =>
      isOtherThanText(valueAt(value, path)) ? quotesHint(text, line, VALUE_MARKS) : '';
    throw firstOf(all, (path) => lineOf(document, lines, path), file, hint);
  }
  if (namesServices(result.data)) readServices(parse);
  const conflict = settingsConflict(result.data);
  if (conflict) throw firstOf([conflict], (path) => lineOf(document, lines, path), file);
  return { document, config: result.data };
}

function checkSyntax(document: Document.Parsed, lines: LineCounter, text: string, file: string) {
  visit(document, {
    Alias(_key, node) {
      if (node.resolve(document)) return;
      const { line } = lines.linePos(node.range?.[0] ?? 0);
      const hint = quotesHint(text, line, SYNTAX_MARKS);
      const said = `not valid YAML: no anchor &${node.source} above${hint}`;
      throw invalid(`${file}:${String(line)}`, said);
    },
  });
  const mistake = document.errors[0] ?? document.warnings[0];
  if (!mistake) return;
  const { line } = lines.linePos(mistake.pos[0]);
  const place = `${file}:${String(line)}`;
  if (mistake.code === 'DUPLICATE_KEY') {
    const key = /^["']?([^:"'\s]*)/.exec(text.slice(mistake.pos[0]))?.[1] ?? '';
    throw invalid(place, `the key ${quote(key)} stands twice in one section, keep one of them`);
  }
  const said = mistake.message.split('\n', 1)[0] ?? '';
  throw invalid(
    place,
    `not valid YAML: ${said.slice(0, 200)}${quotesHint(text, line, SYNTAX_MARKS)}`,
  );
}

/** First characters of an entry that mean something else to YAML than to a person. */
const SYNTAX_MARKS = /^[|>@`%!&*[]/;
/** The same where YAML makes something of the entry: nothing, a mapping, a tag. */
const VALUE_MARKS = /^([#/&!]|.*: )/;

/** How to write an entry of a list that YAML does not take as text; '' where that is not it. */
function quotesHint(text: string, line: number, marks: RegExp): string {
  const source = text.split('\n', line)[line - 1] ?? '';
  const [, entry] =
    /^\s*-\s+([^"'{\s].*?)\s*$/.exec(source) ?? /:\s*\[\s*([|@`%].*?)\s*[,\]]/.exec(source) ?? [];
  if (entry === undefined || !marks.test(entry)) return '';
  return `; put it in quotes: ${JSON.stringify(entry)}`;
}

/** The entry of a list; undefined for anything else. */
function valueAt(value: unknown, path: Path): unknown {
  if (typeof path.at(-1) !== 'number') return undefined;
  return path.reduce((inner: unknown, key) => (inner as Record<string, unknown>)[key], value);
}

/** What YAML makes of an entry that was meant as text: nothing, or a mapping of one key. */
function isOtherThanText(value: unknown): boolean {
  if (value === null) return true;
  return typeof value === 'object' && Object.keys(value).length === 1;
}

/**
 * Takes keys without a value away ("rules:" with all its entries commented out), where the key may be
 * left out: it then has its default. Elsewhere the null stays, and is a mistake.
 */
function withoutNulls(schema: z.ZodType, value: unknown): unknown {
  const inner = unwrapped(schema);
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    return value.map((entry: unknown) => withoutNulls(inner.element as z.ZodType, entry));
  }
  if (!(inner instanceof z.ZodObject) || !isMapping(value)) return value;
  const shape = inner.shape as Readonly<Record<string, z.ZodType | undefined>>;
  const kept = Object.entries(value).flatMap(([key, one]): [string, unknown][] => {
    const field = shape[key];
    if (field === undefined) return [[key, one]];
    const isLeftOut = one === null && field.safeParse(undefined).success;
    return isLeftOut ? [] : [[key, withoutNulls(field, one)]];
  });
  return Object.fromEntries(kept);
}

function isMapping(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function unwrapped(schema: z.ZodType): z.ZodType {
  const wraps =
    schema instanceof z.ZodDefault ||
    schema instanceof z.ZodPrefault ||
    schema instanceof z.ZodOptional;
  return wraps ? unwrapped(schema.unwrap() as z.ZodType) : schema;
}

/** The settings as plain data; an empty file is an empty section. */
function plainValue(document: Document.Parsed, file: string): unknown {
  try {
    return (document.toJS() as unknown) ?? {};
  } catch (error) {
    const said = error instanceof Error ? (error.message.split('\n', 1)[0] ?? '') : String(error);
    throw invalid(file, `not valid YAML: ${said}`, error);
  }
}

function firstOf(
  all: readonly Finding[],
  lineAt: (path: Path) => number,
  file: string,
  hintFor: (path: Path, line: number) => string = () => '',
): AppError {
  const placed = all.map((finding) => ({ finding, line: lineAt(finding.path) }));
  placed.sort(
    (left, right) =>
      left.line - right.line || Number(right.finding.unknownKey) - Number(left.finding.unknownKey),
  );
  const [first] = placed;
  if (!first) return invalid(file, 'the settings are not usable');
  const where = pathText(first.finding.path);
  const more = all.length > 1 ? ` (and ${String(all.length - 1)} more)` : '';
  const hint = hintFor(first.finding.path, first.line);
  const text = `${where === '' ? 'the file' : where}: ${first.finding.text}${hint}${more}`;
  return invalid(`${file}:${String(first.line)}`, text);
}

/** 1-based line of the deepest part of `path` that is in the file. */
function lineOf(document: Document.Parsed, lines: LineCounter, path: Path): number {
  let offset = 0;
  for (let depth = path.length; depth >= 0; depth--) {
    const found = offsetOf(document, path.slice(0, depth));
    if (found === undefined) continue;
    offset = found;
    break;
  }
  return lines.linePos(offset).line;
}

function offsetOf(document: Document.Parsed, path: Path): number | undefined {
  const parent = path.length < 2 ? document.contents : document.getIn(path.slice(0, -1), true);
  const ofKey = keyOffset(parent, path.at(-1));
  if (ofKey !== undefined) return ofKey;
  const node: unknown = path.length === 0 ? document.contents : document.getIn(path, true);
  return isNode(node) ? node.range?.[0] : undefined;
}

/** Where a key of a map stands; undefined when the parent is no map or has no such key. */
function keyOffset(parent: unknown, key: string | number | undefined): number | undefined {
  if (!isMap(parent)) return undefined;
  const keys = parent.items.map((pair) => pair.key).filter((node) => isScalar(node));
  return keys.find((node) => String(node.value) === key)?.range?.[0];
}

function invalid(place: string, text: string, cause?: unknown): AppError {
  return new AppError('CONFIG_INVALID', `${place}: ${text}`, cause);
}
