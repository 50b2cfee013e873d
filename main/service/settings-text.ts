/**
 * Reads the text of a settings file: YAML syntax, then the schema, then what a schema cannot say.
 *
 * Every failure is one AppError CONFIG_INVALID whose message is one line: file, line, key path,
 * the value, and what is allowed. Used by service/config-store.ts; pure but for systems' lists.
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
import { configSchema, type Config } from '../contract/config.ts';
import { AppError } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import { findings, pathText, quote, type Finding } from '../contract/schema-text.ts';
import { namesServices, readServices } from './services.ts';
import { settingsConflict } from './settings-conflicts.ts';

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
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false });
  checkSyntax(document, lines, text, file);
  const value = plainValue(document, file);
  const result = configSchema.safeParse(value);
  if (!result.success) {
    const all = findings(configSchema, value, result.error.issues);
    throw firstOf(all, (path) => lineOf(document, lines, path), file);
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
      throw invalid(`${file}:${String(line)}`, `not valid YAML: no anchor &${node.source} above`);
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
  throw invalid(place, `not valid YAML: ${said.slice(0, 200)}`);
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
  lineAt: (path: Finding['path']) => number,
  file: string,
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
  const text = `${where === '' ? 'the file' : where}: ${first.finding.text}${more}`;
  return invalid(`${file}:${String(first.line)}`, text);
}

/** 1-based line of the deepest part of `path` that is in the file. */
function lineOf(document: Document.Parsed, lines: LineCounter, path: Finding['path']): number {
  let offset = 0;
  for (let depth = path.length; depth >= 0; depth--) {
    const found = offsetOf(document, path.slice(0, depth));
    if (found === undefined) continue;
    offset = found;
    break;
  }
  return lines.linePos(offset).line;
}

function offsetOf(document: Document.Parsed, path: Finding['path']): number | undefined {
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
