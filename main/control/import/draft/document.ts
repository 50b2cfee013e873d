/**
 * Reads a text as YAML or JSON whose root is a mapping, within bounds: aliases, depth, bytes. Keys
 * that occur twice in one mapping are refused, because programs differ in which of them counts; the
 * parser's own check for them takes time with the square of their number.
 */
import { isAlias, isMap, isScalar, isSeq, parseDocument } from 'yaml';
import type { Document, Node, YAMLParseError } from 'yaml';
import { AppError } from '../../../contract/errors.ts';
import { LIMITS } from '../../../contract/limits.ts';
import { fields, type Fields } from './values.ts';

const ALIASES_MAX = 100;

/** @returns null for what is no such document. @throws AppError IMPORT_REFUSED beyond the bounds */
export function readDocument(content: string): Fields | null {
  if (!/^\s*(?:\{|[\w-]+[ \t]*:|---|#|%)/.test(content.slice(0, 4_096))) return null;
  const isJson = content.trimStart().startsWith('{');
  const value = isJson ? readJson(content) : readYaml(content);
  const root = fields(value);
  return Object.keys(root).length > 0 ? root : null;
}

function readJson(content: string): unknown {
  if (isDeeper(content)) throw refused('its brackets are nested too deeply');
  try {
    return JSON.parse(content);
  } catch {
    return readYaml(content);
  }
}

function readYaml(content: string): unknown {
  if (!hasRootKey(content)) return null;
  if (Buffer.byteLength(content) > LIMITS.importYamlBytesMax) {
    throw refused(
      `a YAML document has at most ${String(LIMITS.importYamlBytesMax / 1024 / 1024)} MiB`,
    );
  }
  if (isDeeper(content)) throw refused('its brackets are nested too deeply');
  const document = parse(content);
  if (document === null) return null;
  checkNode(document.contents as Node | null, 0);
  try {
    return document.toJS({ maxAliasCount: ALIASES_MAX });
  } catch {
    throw refused('its aliases (&, *) repeat too much');
  }
}

/** A list of names is no YAML; what is neither is refused by the caller. */
function parse(content: string): Document | null {
  try {
    const document = parseDocument(content, {
      uniqueKeys: false,
      logLevel: 'silent',
      prettyErrors: false,
      keepSourceTokens: false,
    });
    const [error] = document.errors;
    if (error !== undefined && SETTINGS.test(content)) throw invalid(content, error);
    return error === undefined && isMap(document.contents) ? document : null;
  } catch (error) {
    if (error instanceof AppError) throw error;
    return null; // brackets within brackets, for one, beyond what the parser can do
  }
}

/** Sections of the programs whose settings are YAML: a mistake in one is worth telling. */
const SETTINGS =
  /^(?:schema_version|user_rules|filters|blocking|customDNS|upstreams?|conditional)[ \t]*:/m;

function invalid(
  content: string,
  { message, pos }: Pick<YAMLParseError, 'message' | 'pos'>,
): AppError {
  const line = content.slice(0, pos[0]).split('\n').length;
  return refused(`it is no valid YAML, line ${String(line)}: ${message.slice(0, MESSAGE_CHARS)}`);
}

const MESSAGE_CHARS = 120;

/** Whether a line at the left edge has a key of any known program: most lists have none. */
function hasRootKey(content: string): boolean {
  return /^["']?[\w-]+["']?[ \t]*:(?:[ \t\r\n]|$)/m.test(content) || /^\s*\{/.test(content);
}

/** Whether brackets of a text are nested deeper than any real document's, strings included. */
function isDeeper(content: string): boolean {
  let depth = 0;
  for (let at = 0; at < content.length; at++) {
    const code = content.charCodeAt(at);
    if (code === 0x5b || code === 0x7b) depth++;
    else if (code === 0x5d || code === 0x7d) depth = Math.max(0, depth - 1);
    else if (code === 0x0a && depth < 2) depth = 0;
    if (depth > BRACKETS_MAX) return true;
  }
  return false;
}

/** More than depth: expressions in rules have brackets of their own. */
const BRACKETS_MAX = 1_000;

function checkNode(node: unknown, depth: number): void {
  if (depth > LIMITS.importDepthMax) throw refused('it is nested too deeply');
  if (isMap(node)) {
    const keys = new Set<string>();
    for (const { key, value } of node.items) {
      const name = isScalar(key) ? String(key.value) : '';
      if (name !== '' && keys.has(name)) {
        throw refused(`it has the key "${name.slice(0, 60)}" twice in one place`);
      }
      keys.add(name);
      if (!isAlias(value)) checkNode(value, depth + 1);
    }
  } else if (isSeq(node)) for (const item of node.items) checkNode(item, depth + 1);
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', `the document cannot be imported: ${why}`);
}
