/**
 * `npm run headless -- ARGS`: the command `sluice ARGS` from a checkout.
 *
 * Plain JavaScript on purpose: once the build is fresh, this process loads nothing but the built
 * program, so it weighs what an installed one weighs.
 */
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import './end-with-npm.mjs';

const build = spawnSync(
  process.execPath,
  [fileURLToPath(new URL('build.ts', import.meta.url)), '--if-stale'],
  { stdio: ['ignore', 'inherit', 'inherit'] },
);
if (build.status !== 0) process.exit(build.status ?? 1);
await import(new URL('../dist/main/headless.js', import.meta.url).href);
