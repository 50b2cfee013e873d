/**
 * `npm run bench:start`: from exec to the first answer, with lists and settings that were there
 * before, as after a restart of the machine. Prints time on the wall and, which other work on the
 * machine disturbs less, processor time of the whole process and of its threads.
 *
 *   --rounds N       starts (default 7); the first one, which compiles lists and code, is not counted
 *   --names N        names in the block list (default 140000)
 *   --program FILE   headless.js of a build
 */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { question } from '../../test/support/dns-wire.ts';
import { usageOf, type Usage } from './process-usage.ts';
import { startEcho } from './rival-servers.ts';
import { makeData, startProgram, type Data, type ProgramOptions } from './target.ts';

interface Start {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly threads: Usage['threads'];
}

/** The blocked name that is asked; an answer proves that the list is loaded. */
async function askUntilAnswered(port: number, name: string): Promise<void> {
  const socket = createSocket('udp4');
  const answered = once(socket, 'message');
  socket.send(question(name, 'A'), port, '127.0.0.1');
  const timer = setInterval(() => socket.send(question(name, 'A'), port, '127.0.0.1'), 100);
  await answered;
  clearInterval(timer);
  socket.close();
}

async function startOnce(
  data: Data,
  upstreamPort: number,
  options: ProgramOptions,
): Promise<Start> {
  const startedAt = performance.now();
  const target = await startProgram(data, upstreamPort, options);
  await askUntilAnswered(target.port, data.names[0] ?? '');
  const wallMs = performance.now() - startedAt;
  const usage = usageOf(target.pid);
  // What a start leaves for later (saved code, say) is saved by then.
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  await target.close();
  return { wallMs, cpuMs: usage.cpuSeconds * 1_000, threads: usage.threads };
}

function spread(values: readonly number[]): string {
  const sorted = values.toSorted((a, b) => a - b).map((value) => value.toFixed(0));
  return `${sorted[sorted.length >> 1] ?? ''} [${sorted[0] ?? ''}-${sorted.at(-1) ?? ''}] ms`;
}

/** Milliseconds by thread name; threads of one name together. */
function byName(threads: Usage['threads']): Map<string, number> {
  const sums = new Map<string, number>();
  for (const [key, seconds] of threads) {
    const name = key.slice(key.indexOf(' ') + 1);
    sums.set(name, (sums.get(name) ?? 0) + seconds * 1_000);
  }
  return sums;
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '7' },
      names: { type: 'string', default: '140000' },
      program: { type: 'string' },
    },
  });
  const options = values.program === undefined ? {} : { program: values.program };
  const data = await makeData(Number(values.names));
  const echo = await startEcho();
  try {
    const starts: Start[] = [];
    for (let round = 0; round <= Number(values.rounds); round++) {
      const start = await startOnce(data, echo.port, options);
      if (round > 0) starts.push(start);
    }
    process.stdout.write(`wall      ${spread(starts.map(({ wallMs }) => wallMs))}\n`);
    process.stdout.write(`processor ${spread(starts.map(({ cpuMs }) => cpuMs))}\n`);
    const names = new Set(starts.flatMap(({ threads }) => [...byName(threads).keys()]));
    for (const name of names) {
      const own = starts.map(({ threads }) => byName(threads).get(name) ?? 0);
      process.stdout.write(`  ${name.padEnd(16)} ${spread(own)}\n`);
    }
  } finally {
    await echo.close();
    await data.close();
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
