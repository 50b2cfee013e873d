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

/** Folder below main/ (or renderer) → folders it may import values from. */
const LAYERS: Record<string, readonly string[]> = {
  contract: [],
  engine: ['contract'],
  net: ['engine', 'contract'],
  native: [],
  system: ['contract'],
  lists: ['engine', 'system', 'contract'],
  log: ['engine', 'system', 'contract'],
  dataplane: ['engine', 'net', 'log', 'system', 'contract'],
  service: ['contract', 'engine', 'lists', 'log', 'net', 'dataplane', 'system'],
  interfaces: ['contract', 'service', 'system', 'system-dns'],
  'system-dns': ['contract', 'system'],
  electron: ['contract', 'interfaces', 'service', 'compose'],
  launch: ['contract'],
  compose: ['contract', 'service', 'lists', 'log', 'net', 'dataplane', 'interfaces', 'system-dns'],
  headless: ['contract', 'compose', 'interfaces', 'service'],
  renderer: ['texts'],
  texts: [],
};

/** Packages (and node: modules) a folder may load; a folder that is not named may load any. */
const OUTSIDE: Record<string, RegExp> = {
  contract: /^zod$/,
  engine: /^$/,
  net: /^node:/,
  lists: /^node:/,
  system: /^node:/,
  log: /^(node:|better-sqlite3$)/,
  dataplane: /^node:/,
  renderer: /^(svelte|uplot)(\/|$)/,
};

/** Files of contract/ that load zod; only the control plane may pay for it. */
const ZOD_FILES = [
  'main/contract/config.ts',
  'main/contract/methods.ts',
  'main/contract/takeover-schema.ts',
  'main/contract/filter-config.ts',
  'main/contract/filter-methods.ts',
  'main/contract/import-methods.ts',
  'main/contract/list-methods.ts',
  'main/contract/methods.ts',
  'main/contract/protection-state.ts',
  'main/contract/upstream-methods.ts',
];
const ZOD_LAYERS = ['contract', 'service', 'interfaces', 'compose', 'headless'];

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

/** main/net/x.ts → net; main/compose.ts and main/compose/… → compose; renderer/… → renderer. */
function layerOf(path: string): string {
  if (path.startsWith('renderer/')) return 'renderer';
  const rest = path.replace(/^main\//, '');
  return rest.includes('/') ? (rest.split('/')[0] ?? '') : rest.replace(/\.ts$/, '');
}

const SOURCES = [...walk('main'), ...walk('renderer')];
const ALL = [...SOURCES, ...walk('test'), ...walk('bench')];

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
      if (ZOD_FILES.includes(target) && !ZOD_LAYERS.includes(layer)) {
        broken.push(`${path}: only types may be imported from ${target}`);
      }
    }
  }
  assert.deepEqual(broken, []);
});

test('the engine types its outside too: no type from net, log or lists', () => {
  const broken = SOURCES.filter((path) => layerOf(path) === 'engine').flatMap((path) =>
    importsOf(path)
      .filter(({ specifier }) => /\/(net|log|lists|dataplane|service)\//.test(specifier))
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
  const broken = walk('main/engine')
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
