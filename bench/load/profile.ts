/**
 * `npm run bench:profile -- [blocked|cached|forwarded]`: where processor time goes. Loads one path of
 * the built program under V8's sampling profiler and prints, for each thread that did something, the
 * functions in which it was found most: ours, natives of Node, and "(program)", which is the kernel
 * and the add-on. bench/README.md explains the columns.
 *
 *   --seconds N   length of the load (default 4)
 *   --rate N      queries a second; 0, the default, as fast as answers come
 *   --top N       functions a thread (default 25)
 */
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { summarise, type CpuProfile, type ProfileRow } from './cpu-profile.ts';
import { runGenerator } from './generator.ts';
import { PATHS, writeQueries, type Path } from './paths.ts';
import { startEcho } from './rival-servers.ts';
import { makeData, startProgram } from './target.ts';

/** Threads with less than this share of all samples taken are left out. */
const SHARE_MIN = 0.02;

interface Load {
  readonly path: Path;
  readonly seconds: number;
  readonly rate: number;
}

/** Runs the program under load with `--cpu-prof`; the profiles are in `folder` when it has ended. */
async function profileInto(folder: string, { path, seconds, rate }: Load): Promise<void> {
  const data = await makeData(140_000);
  const echo = await startEcho();
  try {
    const nodeOptions = ['--cpu-prof', `--cpu-prof-dir=${folder}`];
    const target = await startProgram(data, echo.port, { nodeOptions });
    try {
      const queries = path === 'forwarded' ? 200_000 : 20_000;
      const file = await writeQueries(path, data, queries);
      await runGenerator({ port: target.port, file, seconds, rate });
    } finally {
      await target.close();
    }
  } finally {
    await echo.close();
    await data.close();
  }
}

function lineOf({ name, place, selfShare }: ProfileRow): string {
  return `  ${(selfShare * 100).toFixed(1).padStart(5)} %  ${name.padEnd(32)} ${place}\n`;
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      seconds: { type: 'string', default: '4' },
      rate: { type: 'string', default: '0' },
      top: { type: 'string', default: '25' },
    },
  });
  const path = PATHS.find((known) => known === (positionals[0] ?? 'blocked'));
  if (path === undefined) throw new Error(`no such path; there are ${PATHS.join(', ')}`);
  const folder = await mkdtemp(join(tmpdir(), 'sluice-profile-'));
  try {
    await profileInto(folder, { path, seconds: Number(values.seconds), rate: Number(values.rate) });
    const names = await readdir(folder);
    const profiles = await Promise.all(
      names.map(async (name) => {
        const profile = JSON.parse(await readFile(join(folder, name), 'utf8')) as CpuProfile;
        return summarise(profile);
      }),
    );
    const busy = profiles.reduce((sum, { busySeconds }) => sum + busySeconds, 0);
    for (const profile of profiles.sort((a, b) => b.busySeconds - a.busySeconds)) {
      if (profile.busySeconds < busy * SHARE_MIN) continue;
      const seconds = profile.busySeconds.toFixed(2);
      process.stdout.write(`\n${profile.thread}: busy for ${seconds} s\n`);
      profile.rows.slice(0, Number(values.top)).forEach((row) => process.stdout.write(lineOf(row)));
    }
  } finally {
    await rm(folder, { recursive: true });
  }
}

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
});
