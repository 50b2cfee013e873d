/**
 * Says in one plain line what is wrong with a value that failed a schema, and what is allowed.
 *
 * Used by the settings check (service/settings-check.ts) and by every door's argument check
 * (api/dispatch.ts). Needs zod's types only; the schemas are handed in.
 */
import type { z } from 'zod';

/** One finding: where, what stands there, what may stand there. */
export interface Finding {
  /** Keys from the root; numbers are list positions, 0-based. */
  readonly path: readonly (string | number)[];
  /** An unknown key at the end of `path`, not a bad value. */
  readonly unknownKey: boolean;
  /** One line without the path, e.g. `99 is not allowed: write a whole number from 1 to 16`. */
  readonly text: string;
}

/** Longest quotation of a value in a message, in characters. */
const QUOTE_CHARS_MAX = 80;

/** Turns zod's issues into findings, one for each unknown key or bad value. */
export function findings(schema: z.ZodType, value: unknown, issues: readonly z.core.$ZodIssue[]) {
  return issues.flatMap((issue): Finding[] => {
    const path = issue.path.map((key) => (typeof key === 'number' ? key : String(key)));
    if (issue.code === 'unrecognized_keys') {
      return issue.keys.map((key) => ({
        path: [...path, key],
        unknownKey: true,
        text: unknownKeyText(schema, path, key),
      }));
    }
    return [{ path, unknownKey: false, text: badValueText(schema, value, path, issue) }];
  });
}

/** Writes a path as people do: `dns.listen[0]`; '' for the root. */
export function pathText(path: readonly (string | number)[]): string {
  let text = '';
  for (const key of path) {
    if (typeof key === 'number') text += `[${String(key)}]`;
    else text += (text === '' ? '' : '.') + (/^[\w-]+$/.test(key) ? key : quote(key));
  }
  return text;
}

/** A value on one line, shortened, control characters escaped. */
export function quote(value: unknown): string {
  const text = (JSON.stringify(value) as string | undefined) ?? String(value);
  return text.length <= QUOTE_CHARS_MAX ? text : `${text.slice(0, QUOTE_CHARS_MAX - 1)}…`;
}

/** The candidate nearest to `text` by edit distance; letter case, "-" and "_" do not count. */
export function nearest(text: string, candidates: readonly string[]) {
  let best = '';
  let bestDistance = Infinity;
  for (const candidate of candidates) {
    const distance = editDistance(plain(text), plain(candidate));
    if (distance < bestDistance) [best, bestDistance] = [candidate, distance];
  }
  return { candidate: best, distance: bestDistance };
}

function plain(text: string): string {
  return text
    .slice(0, 64)
    .toLowerCase()
    .replace(/[-_\s]/g, '');
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let last = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let i = 1; i <= left.length; i++) {
    const row = [i];
    for (let j = 1; j <= right.length; j++) {
      const same = left[i - 1] === right[j - 1] ? 0 : 1;
      let cost = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + same);
      if (i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1]) {
        cost = Math.min(cost, at(before, j - 2) + 1);
      }
      row.push(cost);
    }
    [before, last] = [last, row];
  }
  return at(last, right.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? Infinity;
}

function unknownKeyText(root: z.ZodType, path: readonly (string | number)[], key: string): string {
  const here = keysOf(schemaAt(root, path));
  const near = nearest(key, here);
  if (near.distance <= Math.max(2, Math.floor(key.length / 3))) {
    return `unknown key, the nearest known one is "${near.candidate}"`;
  }
  const everywhere = allPaths(root);
  const elsewhere = nearest(
    key,
    everywhere.map((known) => known.slice(known.lastIndexOf('.') + 1)),
  );
  if (elsewhere.distance <= 1) {
    const known = everywhere.find((text) => text.split('.').at(-1) === elsewhere.candidate);
    return `unknown key, the nearest known one is "${known ?? elsewhere.candidate}"`;
  }
  if (here.length === 0) return 'unknown key, none is allowed here';
  return `unknown key, the nearest known one is "${near.candidate}" (known: ${here.join(', ')})`;
}

function badValueText(
  root: z.ZodType,
  value: unknown,
  path: readonly (string | number)[],
  issue: z.core.$ZodIssue,
): string {
  let found: unknown = value;
  for (const key of path) {
    found = typeof found === 'object' && found !== null ? Reflect.get(found, key) : undefined;
  }
  const allowed =
    issue.code === 'custom' || issue.code === 'invalid_format'
      ? issue.message
      : allowedText(schemaAt(root, path));
  if (found === undefined) return `missing, write ${allowed}`;
  const shown = typeof found === 'number' ? String(found) : quote(found);
  return `${shown} is not allowed, write ${allowed}`;
}

/** The parts of zod's inner definition that are read here. Source: zod 4 "library authors". */
interface Inner {
  readonly type: string;
  readonly format?: string;
  readonly innerType?: z.ZodType;
  readonly in?: z.ZodType;
  readonly element?: z.ZodType;
  readonly options?: readonly z.ZodType[];
  readonly shape?: Record<string, z.ZodType>;
  readonly valueType?: z.ZodType;
  readonly entries?: Record<string, string | number>;
  readonly checks?: readonly { readonly _zod: { readonly def: Check } }[];
}
interface Check {
  readonly check: string;
  readonly value?: number;
  readonly inclusive?: boolean;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly error?: (issue: never) => unknown;
}

function inner(schema: z.ZodType): Inner {
  return schema._zod.def as unknown as Inner;
}

/** Takes off defaults, optionals and the like. */
function bare(schema: z.ZodType): z.ZodType {
  let current = schema;
  for (;;) {
    const { innerType, in: input } = inner(current);
    const next = innerType ?? input;
    if (next === undefined) return current;
    current = next;
  }
}

function schemaAt(root: z.ZodType, path: readonly (string | number)[]): z.ZodType | undefined {
  let current: z.ZodType | undefined = bare(root);
  for (const key of path) {
    const def: Inner | undefined = current && inner(current);
    const next: z.ZodType | undefined =
      typeof key === 'number' ? def?.element : (def?.shape?.[key] ?? def?.valueType);
    current = next && bare(next);
  }
  return current;
}

function keysOf(schema: z.ZodType | undefined): string[] {
  return Object.keys((schema && inner(schema).shape) ?? {});
}

function allPaths(schema: z.ZodType): string[] {
  return Object.entries(inner(bare(schema)).shape ?? {}).flatMap(([key, child]) => [
    key,
    ...allPaths(child).map((below) => `${key}.${below}`),
  ]);
}

const FIXED_TEXTS: Readonly<Record<string, string>> = {
  boolean: 'true or false',
  record: 'a section of names and what belongs to each',
};

function allowedText(schema: z.ZodType | undefined): string {
  if (schema === undefined) return 'something else';
  const { type, entries, checks = [], format } = inner(schema);
  switch (type) {
    case 'number':
      return numberText(
        checks.map((check) => check._zod.def),
        format === 'safeint',
      );
    case 'string':
      return stringText(checks.map((check) => check._zod.def));
    case 'enum':
      return `one of ${Object.values(entries ?? {}).join(', ')}`;
    case 'array':
      return arrayText(schema);
    case 'object':
      return objectText(schema);
    case 'union':
      return (inner(schema).options ?? []).map((one) => allowedText(bare(one))).join(', or ');
    default:
      return FIXED_TEXTS[type] ?? `a ${type}`;
  }
}

function numberText(checks: readonly Check[], isInt: boolean): string {
  const whole = isInt || checks.some((check) => check.check === 'number_format');
  const bound = (kind: string) => checks.find((check) => check.check === kind);
  const low = bound('greater_than');
  const high = bound('less_than');
  let text = whole ? 'a whole number' : 'a number';
  if (low)
    text += low.inclusive === true ? ` from ${String(low.value)}` : ` above ${String(low.value)}`;
  if (high) text += low ? ` to ${String(high.value)}` : ` up to ${String(high.value)}`;
  return text;
}

function stringText(checks: readonly Check[]): string {
  for (const check of checks) {
    const said = check.check === 'string_format' && check.error?.(undefined as never);
    if (typeof said === 'string') return said;
  }
  const { low, high } = lengths(checks);
  if (low === undefined && high === undefined) return 'a text';
  return `a text of ${high === undefined ? 'at least ' : ''}${range(low ?? 0, high)} characters`;
}

function arrayText(schema: z.ZodType): string {
  const { element, checks = [] } = inner(schema);
  const { low, high } = lengths(checks.map((check) => check._zod.def));
  const size =
    low === undefined && high === undefined ? '' : ` of ${range(low ?? 0, high)} entries`;
  return `a list${size}, each ${allowedText(element && bare(element))}`;
}

function objectText(schema: z.ZodType): string {
  const keys = keysOf(schema);
  return keys.length === 0 ? 'no key at all' : `a section with the keys ${keys.join(', ')}`;
}

function lengths(checks: readonly Check[]) {
  return {
    low: checks.find((check) => check.check === 'min_length')?.minimum,
    high: checks.find((check) => check.check === 'max_length')?.maximum,
  };
}

function range(low: number, high: number | undefined): string {
  return high === undefined ? String(low) : `${String(low)} to ${String(high)}`;
}
