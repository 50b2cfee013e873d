/**
 * `npm run bench:rivals`: the same list and load against Sluice with its log on, against unbound,
 * dnsdist and dnsmasq from Debian, and against a bare echo in C that does nothing but receive and
 * send. Rounds are interleaved, so that a slow moment of the machine meets all of them; what counts
 * is each one's share of the echo in the same round.
 *
 *   --rounds N    rounds (default 7)
 *   --seconds N   length of one run (default 3)
 *   --names N     names in the block list (default 140626)
 *   --build FILE  headless.js of another build of Sluice, as one more server
 *   --out DIR     folder of rivals.json (default bench/out)
 *
 * Needs a C compiler and the Debian packages unbound, dnsdist and dnsmasq-base; a rival that is
 * not installed is named and left out.
 */
import { parseArgs } from 'node:util';
import { compileTool } from './c-tools.ts';
import { runGenerator, type Heard } from './generator.ts';
import { writeQueries } from './paths.ts';
import { usageOf } from './process-usage.ts';
import { writeResult } from './result-file.ts';
import { RIVALS, startEcho, type Server } from './rival-servers.ts';
import { makeData, startProgram, startUpstream, type Data } from './target.ts';

const RIVAL_PATHS = ['blocked', 'cached'] as const;
type RivalPath = (typeof RIVAL_PATHS)[number];

interface Run {
  readonly qps: number;
  readonly lost: number;
  readonly cpuUsPerAnswer: number;
}

export interface RivalFigure {
  readonly name: string;
  readonly path: RivalPath;
  /** Medians over rounds; shares are of the echo in the same round. */
  readonly qps: number;
  readonly shareOfEcho: { median: number; low: number; high: number };
  readonly cpuOfEcho: { median: number; low: number; high: number };
  readonly lost: number;
}

async function runOne(
  server: Server,
  path: RivalPath,
  file: string,
  seconds: number,
): Promise<Run> {
  // Once through, slowly enough to lose nothing: fills the cache and checks the answers.
  if (path === 'cached' && server.name !== 'echo') {
    await runGenerator({ port: server.port, file, seconds: 1, rate: 8_000 });
  }
  const before = usageOf(server.pid).cpuSeconds;
  const heard = await runGenerator({ port: server.port, file, seconds, rate: 0 });
  const cpu = usageOf(server.pid).cpuSeconds - before;
  assertAnswers(server, heard);
  return {
    qps: heard.qps,
    lost: heard.lost,
    cpuUsPerAnswer: (cpu / heard.answered) * 1e6,
  };
}

function assertAnswers(server: Server, heard: Heard): void {
  if (heard.answered === 0) throw new Error(`${server.name} answered nothing`);
  const good = server.name === 'echo' ? heard.answered : (heard.rcodes['0'] ?? 0);
  if (good < heard.answered * 0.999) {
    throw new Error(`${server.name} gave wrong answers: ${JSON.stringify(heard.rcodes)}`);
  }
}

function figure(name: string, path: RivalPath, own: Run[], echoes: Run[]): RivalFigure {
  const spread = (values: number[]): RivalFigure['shareOfEcho'] => {
    const sorted = values.toSorted((a, b) => a - b).map((value) => Math.round(value * 1000) / 1000);
    const at = (index: number): number => sorted[index] ?? NaN;
    return { median: at(sorted.length >> 1), low: at(0), high: at(sorted.length - 1) };
  };
  return {
    name,
    path,
    qps: Math.round(spread(own.map((run) => run.qps)).median),
    shareOfEcho: spread(own.map((run, at) => run.qps / (echoes[at]?.qps ?? NaN))),
    cpuOfEcho: spread(
      own.map((run, at) => run.cpuUsPerAnswer / (echoes[at]?.cpuUsPerAnswer ?? NaN)),
    ),
    lost: own.reduce((sum, run) => sum + run.lost, 0),
  };
}

/** Every server for a path in turn, `rounds` times. */
async function measure(
  servers: readonly Server[],
  path: RivalPath,
  data: Data,
  options: { rounds: number; seconds: number },
): Promise<RivalFigure[]> {
  const file = await writeQueries(path, data, 20_000);
  const runs = new Map<string, Run[]>(servers.map((server) => [server.name, []]));
  for (let round = 0; round < options.rounds; round++) {
    for (const server of servers) {
      runs.get(server.name)?.push(await runOne(server, path, file, options.seconds));
    }
  }
  const echoes = runs.get('echo') ?? [];
  return [...runs].map(([name, own]) => figure(name, path, own, echoes));
}

function describe(figure: RivalFigure): string {
  const { shareOfEcho: share, cpuOfEcho: cpu } = figure;
  return (
    `${figure.path.padEnd(8)} ${figure.name.padEnd(8)} ${String(figure.qps).padStart(7)} QPS  ` +
    `share of echo ${share.median.toFixed(2)} [${share.low.toFixed(2)}-${share.high.toFixed(2)}]  ` +
    `CPU an answer, of echo ${cpu.median.toFixed(2)} [${cpu.low.toFixed(2)}-` +
    `${cpu.high.toFixed(2)}]  lost ${String(figure.lost)}`
  );
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '7' },
      seconds: { type: 'string', default: '3' },
      names: { type: 'string', default: '140626' },
      build: { type: 'string' },
      out: { type: 'string', default: 'bench/out' },
    },
  });
  const say = (line: string): boolean => process.stdout.write(`${line}\n`);
  compileTool('generator');
  const data = await makeData(Number(values.names));
  const upstream = await startUpstream(data.folder);
  const servers: Server[] = [await startEcho()];
  try {
    const sluice = await startProgram(data, upstream.port);
    servers.push({ ...sluice, name: 'sluice' });
    if (values.build !== undefined) {
      const options = { program: values.build, dataFolder: 'other' };
      const other = await startProgram(data, upstream.port, options);
      servers.push({ ...other, name: 'other' });
    }
    for (const rival of RIVALS) {
      const server = await rival(data, upstream.port);
      if ('missing' in server) say(`left out: ${server.missing}`);
      else servers.push(server);
    }
    const options = { rounds: Number(values.rounds), seconds: Number(values.seconds) };
    const figures: RivalFigure[] = [];
    for (const path of RIVAL_PATHS) {
      const some = await measure(servers, path, data, options);
      some.forEach((one) => say(describe(one)));
      figures.push(...some);
    }
    const dropped = (await sluice.status())?.totals.logDropped ?? 0;
    const body = { names: Number(values.names), ...options, logDropped: dropped, figures };
    say(`written: ${writeResult(values.out, 'rivals', 'npm run bench:rivals', body)}`);
  } finally {
    for (const server of servers) await server.close();
    await upstream.close();
    await data.close();
  }
}

if (import.meta.main) {
  await main().catch((error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  });
}
