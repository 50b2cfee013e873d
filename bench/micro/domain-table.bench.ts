/**
 * Lookup cost of the domain table at 1,000,000 names: misses with 6 labels, hits, hits below.
 *
 *     node bench/micro/domain-table.bench.ts [NAMES]
 *
 * Bounds: a miss <= 0.4 µs, a hit <= 0.6 µs, nothing allocated. Names are copied into one reused
 * view, as the engine has it, from 65,536 that were parsed before; the time of the copying alone is
 * measured beside it and taken off.
 */
import type { NameView } from '../../main/dns/name.ts';
import { FLAG_BLOCK } from '../../main/engine/filter/domain-table.ts';
import { createMatchContext } from '../../main/engine/filter/match-context.ts';
import { HASH_SEED, hashByte, hashMix, hashName, writeName } from '../../main/dns/name.ts';
import { RULE_BLOCK, RuleSet } from '../../main/engine/filter/rule-set.ts';
import { TableBuilder } from '../../main/lists/compile/table-builder.ts';

const names = Number(process.argv[2] ?? 1_000_000);
/** Names per pass: their slots and entries are more than a core's own caches hold. */
const VIEWS = 65_536;
const ROUNDS = 40;

/** Same names at every run: a Weyl sequence, mixed. */
function word(index: number): string {
  return (hashMix(Math.imul(index, 0x9e3779b1)) >>> 0).toString(36);
}

function listedName(index: number): string {
  return `${word(index)}.tracker${String(index % 977)}.example`;
}

const builder = new TableBuilder(names * 32);
const bytes = new Uint8Array(256);
let nameBytes = 0;
for (let index = 0; index < names; index++) {
  const length = writeName(listedName(index), bytes, 0);
  builder.add(bytes, length, hashName(bytes, 0, length), 1, FLAG_BLOCK, index + 1);
  nameBytes += length;
}
const rules = new RuleSet(builder.finish(), null);
const tableBytes = rules.buffers.table.byteLength;
const matchContext = createMatchContext();

/** One reused view, as the engine's Query is one, and names parsed before the clock runs. */
class ReusedView implements NameView {
  readonly name = new Uint8Array(256);
  readonly labelStarts = new Uint8Array(128);
  readonly suffixHashes = new Int32Array(128);
  nameLength = 0;
  labelCount = 0;

  read(text: string): void {
    this.nameLength = writeName(text, this.name, 0);
    this.labelCount = 0;
    for (let at = 0; at < this.nameLength; at += (this.name[at] as number) + 1) {
      this.labelStarts[this.labelCount++] = at;
    }
    let running = HASH_SEED;
    let label = this.labelCount - 1;
    for (let at = this.nameLength - 1; at >= 0; at--) {
      running = hashByte(running, this.name[at] as number);
      if (at === this.labelStarts[label]) this.suffixHashes[label--] = hashMix(running);
    }
  }
}

const STRIDE = 64;
const LABELS = 8;

/** Names laid side by side, cheap to copy into the view. */
class Prepared {
  readonly #names = new Uint8Array(VIEWS * STRIDE);
  readonly #starts = new Uint8Array(VIEWS * LABELS);
  readonly #hashes = new Int32Array(VIEWS * LABELS);
  readonly #lengths = new Uint8Array(VIEWS);
  readonly #counts = new Uint8Array(VIEWS);

  constructor(make: (index: number) => string) {
    for (let index = 0; index < VIEWS; index++) {
      view.read(make(index));
      this.#names.set(view.name.subarray(0, view.nameLength), index * STRIDE);
      this.#starts.set(view.labelStarts.subarray(0, view.labelCount), index * LABELS);
      this.#hashes.set(view.suffixHashes.subarray(0, view.labelCount), index * LABELS);
      this.#lengths[index] = view.nameLength;
      this.#counts[index] = view.labelCount;
    }
  }

  copy(index: number): void {
    const length = (view.nameLength = this.#lengths[index] as number);
    const count = (view.labelCount = this.#counts[index] as number);
    for (let at = 0; at < length; at++) view.name[at] = this.#names[index * STRIDE + at] as number;
    for (let label = 0; label < count; label++) {
      view.labelStarts[label] = this.#starts[index * LABELS + label] as number;
      view.suffixHashes[label] = this.#hashes[index * LABELS + label] as number;
    }
  }
}

const view = new ReusedView();

/** Nanoseconds of processor time per name, so that other programs count little; `found` keeps the work from vanishing. */
function pass(prepared: Prepared, withMatch: boolean): { ns: number; found: number } {
  let found = 0;
  const start = process.cpuUsage();
  for (let index = 0; index < VIEWS; index++) {
    prepared.copy(index);
    if (withMatch) found += rules.match(view, matchContext);
    else found += view.nameLength;
  }
  return { ns: (process.cpuUsage(start).user * 1e3) / VIEWS, found };
}

function measure(label: string, expected: number, make: (index: number) => string): void {
  const prepared = new Prepared(make);
  const copies: number[] = [];
  const lookups: number[] = [];
  const heapBefore = process.memoryUsage().heapUsed;
  for (let round = 0; round < ROUNDS; round++) {
    copies.push(pass(prepared, false).ns);
    const { ns, found } = pass(prepared, true);
    if (found !== expected * VIEWS) throw new Error(`${label}: found ${String(found)}`);
    lookups.push(ns);
  }
  const heapBytes = (process.memoryUsage().heapUsed - heapBefore) / (ROUNDS * VIEWS);
  const copyNs = median(copies);
  const least = Math.min(...lookups) - Math.min(...copies);
  console.log(
    `${label}: median ${(median(lookups) - copyNs).toFixed(0)} ns, least ${least.toFixed(0)} ns ` +
      `(copying the name, ${copyNs.toFixed(0)} ns, is taken off); ` +
      `heap ${heapBytes.toFixed(2)} bytes a lookup`,
  );
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[values.length >> 1] as number;
}

const indexBytes = (tableBytes - nameBytes) / names;
console.log(`${String(names)} names: ${String(tableBytes)} bytes`);
console.log(`index: ${indexBytes.toFixed(2)} bytes a name beside the names' own`);
const listed = (index: number): string => listedName((Math.imul(index, 7919) >>> 0) % names);
measure('miss, 6 labels', 0, (index) => `a.b.${word(index)}.c.${word(index + 5)}-x.example`);
measure('hit, 3 labels', RULE_BLOCK, listed);
measure('hit below, 6 labels', RULE_BLOCK, (index) => `www.cdn.eu.${listed(index)}`);
