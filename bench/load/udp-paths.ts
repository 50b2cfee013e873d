/**
 * `node bench/load/udp-paths.ts [rounds] [seconds] [rate]`: what receiving and sending cost without
 * any DNS in it. The echo in C, the native listener and the node:dgram listener answer the same
 * load in turn, the server on CPU 0 and the generator on CPU 1; medians of the ratios to the echo
 * of the same round are printed. Rate 0 (the default) asks for the ceiling.
 *
 * On a machine that does other work at the same time the ratio of CPU seconds is the one to trust.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { compileTool } from './c-tools.ts';

const SERVER_CPU = '0';
const GENERATOR_CPU = '1';
const WINDOW = '1024';
const SOCKETS = '8';
const FIRST_PORT = 5_460;

interface Round {
  readonly qps: number;
  readonly lost: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly cpuUsPerPacket: number;
}

const [rounds = 5, seconds = 3, rate = 0] = process.argv.slice(2).map(Number);
const folder = mkdtempSync(join(tmpdir(), 'sluice-udp-paths-'));
const queries = join(folder, 'queries.txt');
writeFileSync(
  queries,
  Array.from({ length: 20_000 }, (_, index) => {
    return `host${String(index)}.example${String(index % 97)}.com A\n`;
  }).join(''),
);

const echoServer = join(import.meta.dirname, 'echo-server.ts');
const SERVERS: Record<string, { command: string[]; udp: string }> = {
  echo: { command: [compileTool('echo')], udp: '' },
  native: { command: [process.execPath, echoServer], udp: 'native' },
  dgram: { command: [process.execPath, echoServer], udp: 'dgram' },
};

async function runRound(name: string, port: number): Promise<Round> {
  const { command, udp } = SERVERS[name] ?? { command: [], udp: '' };
  const server = spawn('taskset', ['-c', SERVER_CPU, ...command, String(port)], {
    env: { ...process.env, SLUICE_UDP: udp },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines: string[] = [];
  const reader = createInterface({ input: server.stdout }).on('line', (line) => lines.push(line));
  await once(reader, 'line');
  const load = [String(port), queries, String(seconds), WINDOW, String(rate), SOCKETS];
  const generator = spawnSync('taskset', ['-c', GENERATOR_CPU, compileTool('generator'), ...load]);
  server.kill('SIGTERM');
  await once(server, 'close');
  const heard = JSON.parse(generator.stdout.toString()) as Record<string, number>;
  const used = /packets (\d+) .*cpu ([\d.]+)/.exec(lines.at(-1) ?? '');
  return {
    qps: heard['qps'] ?? 0,
    lost: heard['lost'] ?? 0,
    p50Us: heard['p50'] ?? 0,
    p99Us: heard['p99'] ?? 0,
    cpuUsPerPacket: (Number(used?.[2]) / Number(used?.[1])) * 1e6,
  };
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[sorted.length >> 1] ?? NaN;
}

function spread(values: number[]): string {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return `${median(values).toFixed(2)} [${low.toFixed(2)}-${high.toFixed(2)}]`;
}

const results = new Map<string, Round[]>(Object.keys(SERVERS).map((name) => [name, []]));
for (let round = 0; round < rounds; round++) {
  let port = FIRST_PORT;
  for (const [name, own] of results) own.push(await runRound(name, port++));
}
rmSync(folder, { recursive: true });
const echoes = results.get('echo') ?? [];
for (const [name, own] of results) {
  const qps = own.map((round, at) => round.qps / (echoes[at]?.qps ?? NaN));
  const cpu = own.map((round, at) => round.cpuUsPerPacket / (echoes[at]?.cpuUsPerPacket ?? NaN));
  process.stdout.write(
    `${name.padEnd(7)} ${String(Math.round(median(own.map((round) => round.qps)))).padStart(7)} QPS` +
      `  share of echo ${spread(qps)}` +
      `  CPU ${median(own.map((round) => round.cpuUsPerPacket)).toFixed(2)} µs a packet` +
      `  of echo ${spread(cpu)}` +
      `  p50 ${String(median(own.map((round) => round.p50Us)))} µs` +
      `  p99 ${String(median(own.map((round) => round.p99Us)))} µs` +
      `  lost ${String(own.reduce((sum, round) => sum + round.lost, 0))}\n`,
  );
}
