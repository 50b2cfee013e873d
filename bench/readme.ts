/**
 * `npm run bench:readme`: writes the figures of README.md from the committed result files. Between
 * the two markers nothing is written by hand; test/bench/claims.test.ts compares.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { hostileSentence, type HostileOutcome } from './hostile/outcome.ts';
import { killSentence, type KillOutcome } from './kill/outcome.ts';
import type { Redline } from './load/redline.ts';
import type { Machine } from './load/result-file.ts';
import type { RivalFigure } from './load/rivals.ts';
import type { Soak } from './load/soak.ts';
import type { Step } from './load/verdict.ts';

const ROOT = resolve(import.meta.dirname, '..');
export const BEGIN = '<!-- figures: begin (npm run bench:readme) -->';
export const END = '<!-- figures: end -->';

interface Header {
  readonly command: string;
  readonly commit: string;
  readonly date: string;
  readonly machine: Machine;
  readonly names: number;
}

/** The block of README.md between the markers, markers included. */
export function figuresBlock(): string {
  const redline = readResult('redline') as Header & Redline;
  const soak = readResult('soak') as Header & Soak;
  const rivals = readResult('rivals') as Header & {
    readonly rounds: number;
    readonly logDropped: number;
    readonly figures: readonly RivalFigure[];
  };
  const kill = readResult('kill') as Header & KillOutcome;
  const hostile = readOptional('hostile') as (Header & HostileOutcome) | null;
  const { machine } = redline;
  const lines = [
    BEGIN,
    '',
    `Measured on ${String(machine.cores)} shared cores (${machine.cpuModel}), load generator ` +
      `included, with ${count(redline.names)} listed names and the log on; Node ${machine.node}, ` +
      `dnsperf ${machine.generator}, commit ${redline.commit}. Memory is what is resident, program ` +
      `code included, and of it what is anonymous: held by Sluice alone.`,
    '',
    '| path | most answers a second that held | at 10,000 a second: client p50 / p99 | engine p99 | CPU | memory, of it anonymous | log lines dropped |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...redline.knees.map((knee) => row(knee.path, knee.qps, redline.steps)),
    '',
    `Soak: ${count(soak.sent)} queries in ${String(soak.seconds)} s at ${count(soak.rate)} a ` +
      `second, ${count(soak.answered)} answered, ${count(soak.wrongRcodes)} wrong, memory ` +
      `${mib(soak.rss.minBytes)} to ${mib(soak.rss.maxBytes)} MiB.`,
    '',
    `The same list and load as fast as answers come, ${String(rivals.rounds)} interleaved rounds, as ` +
      `a share of what a bare echo in C answers in the same round (median, lowest to highest). ` +
      `Sluice has its query log on (at that rate it dropped and counted ` +
      `${count(rivals.logDropped)} log lines over the whole run), the others have none; one thread each.`,
    '',
    '| path | server | share of the echo | CPU an answer, echo = 1 |',
    '| --- | --- | --- | --- |',
    ...rivals.figures.filter(({ name }) => name !== 'echo').map(rivalRow),
    '',
    killSentence(kill, kill.command),
    '',
    ...(hostile === null ? [] : [hostileSentence(hostile, hostile.command), '']),
    `Made by \`${redline.command}\`, ` +
      `\`${soak.command}\` and ` +
      `\`${rivals.command}\`; the files are in \`bench/results/\`.`,
    '',
    END,
  ];
  return lines.join('\n');
}

function rivalRow({ path, name, shareOfEcho, cpuOfEcho }: RivalFigure): string {
  const spread = ({ median, low, high }: RivalFigure['shareOfEcho']): string =>
    `${median.toFixed(2)} (${low.toFixed(2)} to ${high.toFixed(2)})`;
  return `| ${path} | ${name} | ${spread(shareOfEcho)} | ${spread(cpuOfEcho)} |`;
}

function row(path: string, qps: number, steps: readonly Step[]): string {
  const step = steps.find((one) => one.path === path && one.offered === 10_000);
  if (step === undefined) return `| ${path} | ${count(Math.round(qps))} | | | | | |`;
  const seconds = step.sent / 10_000;
  return (
    `| ${path} | ${count(Math.floor(qps / 100) * 100)} | ${ms(step.clientP50Us)} / ` +
    `${ms(step.clientP99Us)} ms | ${ms(step.engineP99Us)} ms | ` +
    `${((step.cpuSeconds / seconds) * 100).toFixed(0)} % of a core | ` +
    `${mib(step.rssBytes)} MiB, ${mib(step.anonymousBytes)} | ${count(step.logDropped)} |`
  );
}

function readResult(name: string): unknown {
  return JSON.parse(readFileSync(join(ROOT, 'bench/results', `${name}.json`), 'utf8'));
}

/** Null until the file was made and committed. */
function readOptional(name: string): unknown {
  return existsSync(join(ROOT, 'bench/results', `${name}.json`)) ? readResult(name) : null;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

function ms(us: number): string {
  return (us / 1000).toFixed(2);
}

function mib(bytes: number): string {
  return (bytes / 2 ** 20).toFixed(0);
}

if (import.meta.main) {
  const path = join(ROOT, 'README.md');
  const text = readFileSync(path, 'utf8');
  const [before, rest] = text.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new Error('README.md lacks the markers');
  writeFileSync(path, `${before}${figuresBlock()}${after}`);
}
