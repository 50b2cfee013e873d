/** Little memory: 256 MiB for the whole program, page cache included, while large lists change. */
import { existsSync } from 'node:fs';
import { mkdir, readFile, rmdir, writeFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, Failure, runCase, type Account, type Part, type Setting } from './case.ts';
import { ListServer } from './list-server.ts';
import { Pulse } from './pulse.ts';
import { Subject } from './subject.ts';
import { Closers, GOOD_ADDRESS, goodUpstream, ZONE } from './surroundings.ts';

const MIB = 2 ** 20;
const LIMIT_BYTES = 256 * MIB;
const NAMES = { full: 200_000, short: 30_000 };
const ROUNDS = { full: 5, short: 2 };
const GAP_MAX_MS = 3_000;

interface Cage {
  /** How memory was bounded, for the result. */
  readonly kind: string;
  readonly wrap: readonly string[];
  peakBytes(): Promise<number>;
  kills(): Promise<number>;
  close(): Promise<void>;
}

const number = async (path: string): Promise<number> =>
  Number((await readFile(path, 'utf8')).trim());
const field = async (path: string, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\d+)`, 'm').exec(await readFile(path, 'utf8'))?.[1] ?? 0);

/** A control group of version 2 or 1. @throws Error when this user may not make one */
async function makeCage(): Promise<Cage> {
  const isV2 = existsSync('/sys/fs/cgroup/cgroup.controllers');
  const root = isV2 ? '/sys/fs/cgroup' : '/sys/fs/cgroup/memory';
  const group = `${root}/sluice-hostile-${String(process.pid)}`;
  await mkdir(group);
  const limit = isV2 ? 'memory.max' : 'memory.limit_in_bytes';
  await writeFile(`${group}/${limit}`, String(LIMIT_BYTES));
  const swap = isV2 ? 'memory.swap.max' : 'memory.memsw.limit_in_bytes';
  await writeFile(`${group}/${swap}`, isV2 ? '0' : String(LIMIT_BYTES)).catch(() => undefined);
  return {
    kind: `cgroup v${isV2 ? '2' : '1'}`,
    wrap: ['sh', '-c', `echo $$ > ${group}/cgroup.procs && exec "$@"`, 'sh'],
    peakBytes: () => number(`${group}/${isV2 ? 'memory.peak' : 'memory.max_usage_in_bytes'}`),
    kills: () => field(`${group}/${isV2 ? 'memory.events' : 'memory.oom_control'}`, 'oom_kill'),
    close: async () => {
      for (let attempt = 0; attempt < 50 && existsSync(group); attempt++) {
        await rmdir(group).catch(() => undefined);
        await wait(100);
      }
    },
  };
}

async function refreshUnderLimit(
  folder: string,
  setting: Setting,
  tell: (account: Account) => void,
) {
  const closers = new Closers();
  const length = setting.isShort ? 'short' : 'full';
  const figures: Record<string, number | string> = {};
  const lists = await ListServer.open();
  await lists.resize(NAMES[length]);
  closers.after(() => lists.close());
  try {
    const cage = await makeCage().catch((error: unknown) => {
      throw new Failure(`needs root and a memory control group: ${String(error)}`);
    });
    closers.after(() => cage.close());
    figures['bound'] = cage.kind;
    const upstream = await goodUpstream(closers);
    const subject = await Subject.make(folder, {
      dns: { upstreams: [upstream] },
      rules: ['||always.example^'],
      lists: ['first', 'second'].map((name) => ({ name, url: lists.url(name) })),
    });
    const zone = { blocked: 'always.example', zone: ZONE, address: GOOD_ADDRESS };
    const pulse = await Pulse.start({ port: subject.dnsPort, ...zone });
    closers.after(() => pulse.stop());
    tell({ questions: () => pulse.questions, figures: () => figures });
    await subject.start({ wrap: cage.wrap });
    closers.after(() => subject.kill());
    pulse.up();
    for (let round = 0; round < ROUNDS[length]; round++) {
      await lists.nextVersion();
      await subject.call('lists.refresh', {}, 90_000);
      figures['refreshes'] = round + 1;
    }
    const { names } = await subject.call<{ names: number }>('lists.list');
    expect(names >= 2 * NAMES[length], `only ${String(names)} names are in use`);
    await wait(1_000);
    pulse.down();
    figures['peakMiB'] = Math.round((await cage.peakBytes()) / MIB);
    figures['residentMiB'] = Math.round((await subject.rssBytes()) / MIB);
    expect((await cage.kills()) === 0, 'the kernel killed for want of memory');
    expect(subject.isAlive(), 'it ended');
    const { wrong, lost, worstGapMs } = pulse.questions;
    expect(
      wrong + lost === 0,
      `${String(wrong)} wrong (${pulse.firstWrong}), ${String(lost)} lost`,
    );
    expect((worstGapMs ?? 0) <= GAP_MAX_MS, `no answer for ${String(worstGapMs)} ms`);
  } finally {
    await closers.close();
  }
}

export const MEMORY_PART: Part = {
  name: 'little memory',
  criterion:
    'In a control group of 256 MiB it lives through refreshes of two lists, ends with all their names ' +
    'in use, and answers every question right, never later than 3 s.',
  run: async (setting) => [
    await runCase('256 MiB while lists refresh', setting, (folder, tell) =>
      refreshUnderLimit(folder, setting, tell),
    ),
  ],
};
