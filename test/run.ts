/**
 * `npm test`: runs every test file, then says which checks could not run here and why.
 *
 * Files run one after another: several of them measure time or hold the whole machine. The closing
 * list repeats each skipped check with its reason, so that a skip never passes for a pass. With CI
 * set, a skipped check fails the run.
 */
import { glob } from 'node:fs/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { build, isBuilt } from '../tools/build.ts';

/** Order: what explains other failures comes first, what takes longest last. */
const FOLDERS = [
  'contract',
  'texts',
  'dns',
  'engine',
  'lists',
  'log',
  'net',
  'native',
  'dataplane',
  'control',
  'api',
  'tools',
  'system',
  'system-dns',
  'rfc',
  'packets',
  'scenario',
  'own-network',
  'fuzz',
  'bench',
  'program',
  'page',
  'desktop',
];

/** Run by a command of their own: they need minutes and a quiet machine. */
const APART = ['test/system-dns/sandbox.test.ts']; // npm run test:takeover

const filters = process.argv.slice(2);
const files: string[] = [];
for (const pattern of ['test/*.test.ts', ...FOLDERS.map((name) => `test/${name}/**/*.test.ts`)]) {
  const found: string[] = [];
  for await (const file of glob(pattern)) found.push(file);
  files.push(...found.sort());
}
const chosen = files.filter(
  (file) =>
    !APART.includes(file) &&
    (filters.length === 0 || filters.some((filter) => file.includes(filter))),
);
if (chosen.length === 0) {
  process.stderr.write(`no test file matches ${filters.join(' ')}\n`);
  process.exit(1);
}

// Several tests start the built program; it must be the one of these sources.
if (!(await isBuilt())) await build((line) => process.stdout.write(`${line}\n`));

const skipped: string[] = [];
let failed = 0;
const stream = run({ files: chosen, concurrency: 1, timeout: 600_000 });
stream.on('test:fail', () => failed++);
stream.on('test:pass', (event) => {
  if (event.skip !== undefined && event.skip !== false) {
    const reason = typeof event.skip === 'string' ? event.skip : 'no reason given';
    skipped.push(`${event.name}: ${reason}`);
  }
});
stream.compose(spec).pipe(process.stdout);
stream.on('end', () => {
  if (skipped.length > 0) {
    process.stdout.write(`\nNot run here (${skipped.length}):\n  ${skipped.join('\n  ')}\n`);
  }
  const isCi = process.env['CI'] !== undefined && process.env['CI'] !== '';
  if (failed > 0 || (isCi && skipped.length > 0)) process.exitCode = 1;
});
