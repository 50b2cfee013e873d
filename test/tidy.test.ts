/**
 * Holds the shape of the code: who may import whom, sizes, headers, and forgotten notes. The layer
 * table is the one in ARCHITECTURE.md; a rule that fails names the file and what to do.
 */
import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import ts from 'typescript';

const ROOT = resolve(import.meta.dirname, '..');

/** Folder below main/ (or renderer) → folders it may import values from: the table of ARCHITECTURE.md. */
const LAYERS = layerTable();

/** Packages (and node: modules) a folder may load; a folder that is not named may load any. */
const OUTSIDE: Record<string, RegExp> = {
  contract: /^zod$/,
  dns: /^node:(net|url)$/, // for what they say of texts
  texts: /^$/,
  engine: /^$/,
  net: /^node:/,
  lists: /^node:/,
  system: /^node:/,
  log: /^(node:|better-sqlite3$)/,
  dataplane: /^node:/,
  renderer: /^(svelte|uplot)(\/|$)/,
};

/** Only the control plane and the entry points may pay for zod. */
const ZOD_LAYERS = ['contract', 'control', 'api', 'app', 'headless'];

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

function walk(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) return entry.name === 'fixtures' ? [] : walk(path);
    return /\.(ts|cts|svelte)$/.test(entry.name) ? [path] : [];
  });
}

function scriptOf(path: string): string {
  const text = readFileSync(join(ROOT, path), 'utf8');
  if (!path.endsWith('.svelte')) return text;
  return [...text.matchAll(/<script[^>]*>([\s\S]*?)<\/script>/g)].map((m) => m[1]).join('\n');
}

function importsOf(path: string): Import[] {
  const source = ts.createSourceFile(path, scriptOf(path), ts.ScriptTarget.Latest, true);
  const found: Import[] = [];
  const visit = (node: ts.Node): void => {
    if (
      (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) &&
      node.moduleSpecifier !== undefined &&
      ts.isStringLiteral(node.moduleSpecifier)
    ) {
      const typeOnly = ts.isImportDeclaration(node)
        ? node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword
        : node.isTypeOnly;
      found.push({ specifier: node.moduleSpecifier.text, typeOnly });
    } else if (
      ts.isCallExpression(node) &&
      node.expression.kind === ts.SyntaxKind.ImportKeyword &&
      node.arguments[0] !== undefined &&
      ts.isStringLiteral(node.arguments[0])
    ) {
      found.push({ specifier: node.arguments[0].text, typeOnly: false });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** main/net/x.ts → net; main/headless.ts → headless; renderer/… → renderer. */
function layerOf(path: string): string {
  if (path.startsWith('renderer/')) return 'renderer';
  const rest = path.replace(/^main\//, '');
  return rest.includes('/') ? (rest.split('/')[0] ?? '') : rest.replace(/\.ts$/, '');
}

function layerTable(): Record<string, readonly string[]> {
  const text = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8');
  const rows = /\| folder \| may import[^\n]*\n[^\n]*\n((?:\|[^\n]*\n)+)/.exec(text)?.[1] ?? '';
  const layers: Record<string, readonly string[]> = {};
  for (const row of rows.trim().split('\n')) {
    const [, folders = '', imports = ''] = row.split('|');
    // What stands behind a semicolon is about types.
    const values = namesIn(imports.split(';')[0] ?? '');
    for (const folder of namesIn(folders)) layers[folder] = values;
  }
  return layers;
}

function namesIn(cell: string): string[] {
  return [...cell.matchAll(/`([\w-]+)`/g)].map(([, name = '']) => name);
}

/** The folder of a file of main/. */
function roomOf(path: string): string {
  return dirname(path).replace(/^main\/?/, '') || path.replace(/^main\//, '');
}

/** Which rooms of main/ a room imports, types included; with one of the files that do. */
function roomImports(): Map<string, Map<string, string>> {
  const rooms = new Map<string, Map<string, string>>();
  for (const path of SOURCES.filter((source) => source.startsWith('main/'))) {
    const from = roomOf(path);
    for (const { specifier } of importsOf(path)) {
      const target = relative(ROOT, resolve(ROOT, dirname(path), specifier));
      if (!specifier.startsWith('.') || !target.startsWith('main/')) continue;
      const to = roomOf(target);
      const known = rooms.get(from) ?? new Map<string, string>();
      rooms.set(from, known);
      if (to !== from) known.set(to, path);
    }
  }
  return rooms;
}

const SOURCES = [...walk('main'), ...walk('renderer')];
const ALL = [...SOURCES, ...walk('tools'), ...walk('test'), ...walk('bench')];

test('every folder of main/ has a row in the layer table', () => {
  const missing = new Set(SOURCES.map(layerOf).filter((layer) => !(layer in LAYERS)));
  assert.deepEqual([...missing], []);
});

test('imports follow the layer table', () => {
  const broken: string[] = [];
  for (const path of SOURCES) {
    const layer = layerOf(path);
    for (const { specifier, typeOnly } of importsOf(path)) {
      if (typeOnly) continue;
      if (!specifier.startsWith('.')) {
        const allowed = OUTSIDE[layer];
        if (allowed !== undefined && !allowed.test(specifier)) {
          broken.push(`${path}: ${layer} may not load ${specifier}`);
        }
        continue;
      }
      const target = relative(ROOT, resolve(ROOT, dirname(path), specifier));
      if (!/^(main|renderer)\//.test(target)) continue;
      const to = layerOf(target);
      if (to !== layer && !(LAYERS[layer] ?? []).includes(to)) {
        broken.push(`${path}: ${layer} may not import ${to} (${specifier})`);
      }
      if (loadsZod(target) && !ZOD_LAYERS.includes(layer)) {
        broken.push(`${path}: only types may be imported from ${target}`);
      }
    }
  }
  assert.deepEqual(broken, []);
});

/** Whether a file of the contract loads zod, by itself or through another one. */
function loadsZod(path: string, seen = new Set<string>()): boolean {
  if (!path.startsWith('main/contract/') || seen.has(path)) return false;
  seen.add(path);
  return importsOf(path).some(({ specifier, typeOnly }) => {
    if (typeOnly) return false;
    if (specifier === 'zod') return true;
    return loadsZod(relative(ROOT, resolve(ROOT, dirname(path), specifier)), seen);
  });
}

test('no room imports one that imports it, by itself or through others', () => {
  const rooms = roomImports();
  const broken: string[] = [];
  for (const start of rooms.keys()) {
    const seen = new Set<string>();
    const visit = (room: string, way: string): void => {
      for (const [next, file] of rooms.get(room) ?? []) {
        if (next === start) broken.push(`${way} → ${start} (${file})`);
        else if (!seen.has(next)) {
          seen.add(next);
          visit(next, `${way} → ${next}`);
        }
      }
    };
    visit(start, start);
  }
  assert.deepEqual(broken, []);
});

test('the engine types its outside too: no type from net, log or lists', () => {
  const broken = SOURCES.filter((path) => layerOf(path) === 'engine').flatMap((path) =>
    importsOf(path)
      .filter(({ specifier }) => /\/(net|log|lists|dataplane|control)\//.test(specifier))
      .map(({ specifier }) => `${path}: ${specifier}`),
  );
  assert.deepEqual(broken, []);
});

test('a source file stays one thing: at most 600 lines, and it opens by saying what it is', () => {
  const broken: string[] = [];
  for (const path of SOURCES) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    const lines = text.split('\n').length;
    if (lines > 600) broken.push(`${path}: ${String(lines)} lines; split it`);
    if (path.endsWith('.svelte')) {
      if (lines > 250) broken.push(`${path}: ${String(lines)} lines; split the component`);
    } else if (!/^(#!.*\n)?\/\*\*/.test(text)) {
      broken.push(`${path}: begin with a docstring that says what the file is`);
    }
  }
  assert.deepEqual(broken, []);
});

test('nothing is left lying about', () => {
  const broken: string[] = [];
  const notes = new RegExp(['FIX' + 'ME', 'XX' + 'X', 'HA' + 'CK'].join('|'));
  for (const path of ALL) {
    const text = readFileSync(join(ROOT, path), 'utf8');
    if (notes.test(text)) broken.push(`${path}: a note that must not land`);
    if (/\bTODO\b(?!\(#\d+\))/.test(text) && path !== 'test/tidy.test.ts') {
      broken.push(`${path}: a TODO needs an issue number, TODO(#12)`);
    }
    if (/\b(test|it|describe)\.only\b/.test(text) && path !== 'test/tidy.test.ts') {
      broken.push(`${path}: a focused test hides the others`);
    }
  }
  assert.deepEqual(broken, []);
});

test('no pattern is compiled on the path of a query', () => {
  const broken = [...walk('main/engine'), ...walk('main/dns')]
    .filter((path) => !/explain/.test(path))
    .filter((path) => /new RegExp\(/.test(readFileSync(join(ROOT, path), 'utf8')));
  assert.deepEqual(broken, []);
});

test('every test folder is run by npm test', () => {
  const runner = readFileSync(join(ROOT, 'test/run.ts'), 'utf8');
  const folders = new Set(
    walk('test')
      .filter((path) => path.endsWith('.test.ts'))
      .map((path) => path.split('/')[1] ?? '')
      .filter((name) => !name.endsWith('.ts')),
  );
  const missing = [...folders].filter((name) => !runner.includes(`'${name}'`));
  assert.deepEqual(missing, []);
});
