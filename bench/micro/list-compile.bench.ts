/**
 * Time and memory of parsing and compiling lists of 1,000,000 generated names, on one core.
 *
 *     node --expose-gc bench/micro/list-compile.bench.ts [NAMES] [FILE ...]
 *
 * Bounds: <= 2 s, table <= 24 bytes a name beside the names' own bytes. With FILEs, those are
 * compiled instead. Prints one line per dialect: milliseconds of processor
 * time (best of three), bytes, peak memory
 * above the text itself.
 */
import { readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { hashMix } from '../../main/dns/name.ts';
import { parseList } from '../../main/lists/compile/parse-list.ts';
import { RuleSetBuilder } from '../../main/lists/compile/rule-set-builder.ts';

const RUNS = 3;
const names = Number(process.argv[2] ?? 1_000_000);
const files = process.argv.slice(3);

function generated(before: string, after: string): Uint8Array {
  const lines: string[] = [];
  for (let index = 0; index < names; index++) {
    const word = (hashMix(Math.imul(index, 0x9e3779b1)) >>> 0).toString(36);
    lines.push(`${before}${word}.tracker${String(index % 977)}.example${after}\n`);
  }
  return new Uint8Array(Buffer.from(lines.join(''), 'latin1'));
}

function measure(label: string, text: Uint8Array): void {
  let bestMs = Infinity;
  let peak = 0;
  let line = '';
  for (let round = 0; round < RUNS; round++) {
    globalThis.gc?.();
    const before = process.memoryUsage().arrayBuffers;
    const start = process.cpuUsage();
    const builder = new RuleSetBuilder(text.length);
    builder.beginList(1);
    const report = parseList(text, { format: 'auto' }, builder);
    const distinct = builder.nameCount;
    const { table } = builder.finish();
    const used = process.cpuUsage(start);
    bestMs = Math.min(bestMs, (used.user + used.system) / 1_000);
    peak = Math.max(peak, process.memoryUsage().arrayBuffers - before);
    const index = (table.byteLength - nameBytesOf(table)) / distinct;
    line =
      `${String(report.lines)} lines, ${String(distinct)} names, ` +
      `table ${String(table.byteLength)} bytes, index ${index.toFixed(2)} bytes a name`;
  }
  const peakMiB = (peak / 1024 / 1024).toFixed(1);
  console.log(`${label}: ${bestMs.toFixed(0)} ms, ${line}, arrays at most ${peakMiB} MiB`);
}

/** Bytes of the names' own, without their terminators; see engine/filter/domain-table.ts. */
function nameBytesOf(table: SharedArrayBuffer): number {
  const [, , , , names = 0, nameBytes = 0] = new Int32Array(table, 0, 8);
  return nameBytes - names;
}

if (files.length > 0) {
  for (const file of files) measure(basename(file), new Uint8Array(readFileSync(file)));
} else {
  measure('domains', generated('', ''));
  measure('adblock', generated('||', '^'));
  measure('hosts', generated('0.0.0.0 ', ''));
}
