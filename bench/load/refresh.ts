/**
 * `npm run bench:refresh`: what a refresh of a large list costs. Answers' latency while lists are
 * compiled again and again, against that of a quiet time before; resident memory before, at its
 * highest, and afterwards.
 *
 *   --seconds N   length of each of the two loads (default 10)
 *   --rate N      queries a second (default 2000)
 *   --names N     names in the block list (default 1000000)
 *   --out DIR     folder of refresh.json; nothing is written without
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { connect } from '../../main/api/cli/client.ts';
import { runGenerator, type Heard } from './generator.ts';
import { writeQueries } from './paths.ts';
import { usageOf } from './process-usage.ts';
import { writeResult } from './result-file.ts';
import { startEcho } from './rival-servers.ts';
import { makeData, startProgram, type Data, type Target } from './target.ts';

/** After the start and after the load, until freed memory is given back. */
const SETTLE_MS = 6_000;
const MIB = 1024 * 1024;

function peakBytes(pid: number): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+)/m.exec(status)?.[1] ?? 0) * 1024;
}

/** Makes the kernel begin anew with VmHWM. */
function forgetPeak(pid: number): void {
  writeFileSync(`/proc/${String(pid)}/clear_refs`, '5');
}

/** Two copies of the list to take turns; 1000 names of each are not in the other. */
function copiesOf(data: Data): Buffer[] {
  return ['one', 'two'].map((tag) => {
    const changed = data.names.map((name, index) => (index < 1_000 ? `${tag}-${name}` : name));
    return Buffer.from(`${changed.join('\n')}\n`);
  });
}

/** Refreshes until `isOver`; returns how often. */
async function refreshOften(
  data: Data,
  copies: readonly Buffer[],
  isOver: () => boolean,
): Promise<number> {
  const client = await connect(join(data.folder, 'data'));
  let rounds = 0;
  while (!isOver()) {
    await writeFile(join(data.folder, 'names.txt'), copies[rounds % 2] ?? '');
    await client.call('lists.refresh', {});
    rounds++;
  }
  return rounds;
}

async function measure(target: Target, data: Data, rate: number, seconds: number) {
  const file = await writeQueries('blocked', data, 1);
  const load = { port: target.port, file, seconds, rate };
  const copies = copiesOf(data);
  const firstPeak = peakBytes(target.pid);
  await settled();
  const before = usageOf(target.pid);
  const quiet = await runGenerator(load);
  forgetPeak(target.pid);
  const loaded = usageOf(target.pid);
  let isOver = false;
  const rounds = refreshOften(data, copies, () => isOver);
  const busy = await runGenerator(load);
  isOver = true;
  const refreshes = await rounds;
  const cpu = usageOf(target.pid).cpuSeconds - loaded.cpuSeconds;
  const peak = peakBytes(target.pid);
  await settled();
  return {
    textMiB: mib(statSync(join(data.folder, 'names.txt')).size),
    tableMiB: mib(statSync(join(data.folder, 'data', 'lists', 'table.bin')).size),
    firstStart: { peakMiB: mib(firstPeak), residentMiB: mib(before.rssBytes) },
    refresh: {
      rounds: refreshes,
      cpuSecondsEach: Math.round((cpu / refreshes) * 100) / 100,
      peakMiB: mib(peak),
      /** Above what the load before has made resident, program code above all. */
      aboveLoadedMiB: mib(peak - loaded.rssBytes),
      residentAfterMiB: mib(usageOf(target.pid).rssBytes),
    },
    quiet: latency(quiet),
    busy: latency(busy),
    p99Ratio: Math.round((busy.p99 / quiet.p99) * 100) / 100,
  };
}

async function settled(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS));
}

function latency({ answered, lost, p50, p99 }: Heard) {
  return { answered, lost, p50, p99 };
}

function mib(bytes: number): number {
  return Math.round((bytes / MIB) * 10) / 10;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seconds: { type: 'string', default: '10' },
      rate: { type: 'string', default: '2000' },
      names: { type: 'string', default: '1000000' },
      out: { type: 'string', default: '' },
    },
  });
  const data = await makeData(Number(values.names));
  const echo = await startEcho();
  const target = await startProgram(data, echo.port);
  try {
    const figures = await measure(target, data, Number(values.rate), Number(values.seconds));
    process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
    if (values.out === '') return;
    const body = { names: Number(values.names), ...figures };
    const path = writeResult(values.out, 'refresh', 'npm run bench:refresh', body);
    process.stdout.write(`written: ${path}\n`);
  } finally {
    await target.close();
    await echo.close();
    await data.close();
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
