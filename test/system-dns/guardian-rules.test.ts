/**
 * The guardian's rules are written twice, for guardian-process.ts and for the watcher in C. Both get
 * the same traces here and have to decide alike, at the same tick.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import {
  GuardianWatch,
  PROBE_EVERY_MS,
  SILENCE_MS,
  STALL_MS,
} from '../../main/system-dns/guardian/guardian-watch.ts';
import { WATCHER_FLAGS, WATCHER_SOURCE } from '../../tools/build-watcher.ts';
import { runTool } from '../../tools/run-tool.ts';
import { tempDir } from '../support/temp-dir.ts';

/** Milliseconds since the start: t a tick, h a reply of the engine. */
type Trace = readonly (readonly [what: 't' | 'h', atMs: number])[];

const skip = process.platform !== 'linux' && 'needs Linux';
const every = PROBE_EVERY_MS;
const ticks = (fromMs: number, count: number): Trace =>
  Array.from({ length: count }, (_, index) => ['t', fromMs + index * every] as const);

/** With the time at which it is to be given back; null for never. */
const TRACES: readonly [name: string, trace: Trace, endsAtMs: number | null][] = [
  [
    'an engine that answers',
    ticks(every, 20).flatMap((tick) => [tick, ['h', tick[1] + 1] as const]),
    null,
  ],
  ['an engine that never answers', ticks(every, 6), SILENCE_MS + every],
  ['silence of just the bound', [...ticks(every, 3), ['t', SILENCE_MS]], null],
  ['one more', [...ticks(every, 3), ['t', SILENCE_MS + 1]], SILENCE_MS + 1],
  ['a reply at the last moment', [...ticks(every, 4), ['h', 801], ...ticks(1_000, 4)], null],
  ['falls silent later', [['t', 200], ['h', 201], ...ticks(400, 6)], 1_200],
  ['this process stood still', [['t', 200], ['t', 9_000], ...ticks(9_200, 4)], null],
  ['stood still, and then silence', [['t', 200], ['t', 9_000], ...ticks(9_200, 5)], 10_000],
  ['late by just the bound', [...ticks(every, 2), ['t', 400 + STALL_MS]], 400 + STALL_MS],
  ['late by one more', [...ticks(every, 2), ['t', 401 + STALL_MS]], null],
];

/** The watcher's own rules, fed from its command line; prints the time of the verdict. */
const HARNESS = `
#define main watcher_main
#include "${WATCHER_SOURCE}"
#undef main
int main(int count, char **words) {
  struct orders orders = {.app = getpid(), .silence_ms = ${String(SILENCE_MS)},
    .stall_ms = ${String(STALL_MS)}};
  struct rules rules = {0, 0};
  for (int index = 1; index < count; index++) {
    long at = atol(words[index] + 1);
    if (words[index][0] == 'h') { rules.heard = at; continue; }
    tick(&rules, &orders, at);
    if (is_silent(&orders, at - rules.heard)) { printf("%ld", at); return 0; }
  }
  printf("null");
  return 0;
}
void *unused = (void *)watcher_main;
`;

function watchWith(trace: Trace): number | null {
  const watch = new GuardianWatch(0);
  for (const [what, atMs] of trace) {
    if (what === 'h') watch.heard(atMs);
    else if (watch.tick(atMs) !== 'fine') return atMs;
  }
  return null;
}

test('the watcher in C decides as the guardian process does', { skip }, async (t) => {
  const folder = await tempDir(t);
  const source = join(folder, 'rules.c');
  const program = join(folder, 'rules');
  writeFileSync(source, HARNESS);
  const compiler = process.env['CC'] ?? 'cc';
  const built = await runTool(compiler, [...WATCHER_FLAGS, '-o', program, source]).catch(
    () => null,
  );
  if (built === null) {
    t.skip(`${compiler} cannot be started`);
    return;
  }
  assert.equal(built.code, 0, built.tail);
  for (const [name, trace, endsAtMs] of TRACES) {
    const words = trace.map(([what, atMs]) => `${what}${String(atMs)}`);
    const { stdout } = await promisify(execFile)(program, words);
    assert.equal(watchWith(trace), endsAtMs, `guardian-watch.ts: ${name}`);
    assert.equal(JSON.parse(stdout), endsAtMs, `watcher.c: ${name}`);
  }
});
