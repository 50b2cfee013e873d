/** Reads a profile of V8's sampling profiler (`--cpu-prof`) down to one row a function. */

/** The parts of a .cpuprofile that count here. Times are in microseconds. */
export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: {
      readonly functionName: string;
      readonly url: string;
      /** From 0. */
      readonly lineNumber: number;
    };
  }[];
  /** Node id of each sample, and the time since the one before. */
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

/** A function and the share of the thread's busy time in which it was the innermost one. */
export interface ProfileRow {
  readonly name: string;
  /** "dataplane-thread.js:12", "node:dgram:300"; '' for V8's own states. */
  readonly place: string;
  readonly selfShare: number;
}

export interface ProfileSummary {
  /** File of the program that the thread ran most of. */
  readonly thread: string;
  /** Sampled time outside "(idle)". */
  readonly busySeconds: number;
  /** Largest share first. */
  readonly rows: readonly ProfileRow[];
}

/** Adds up samples by function. */
export function summarise({ nodes, samples, timeDeltas }: CpuProfile): ProfileSummary {
  const frames = new Map(nodes.map(({ id, callFrame }) => [id, callFrame]));
  const functions = new Map<string, { name: string; place: string; us: number }>();
  const files = new Map<string, number>();
  let busyUs = 0;
  for (const [at, id] of samples.entries()) {
    const frame = frames.get(id);
    const us = Math.max(timeDeltas[at] ?? 0, 0);
    if (frame === undefined || frame.functionName === '(idle)') continue;
    busyUs += us;
    const file = frame.url.startsWith('node:') ? frame.url : (frame.url.split('/').at(-1) ?? '');
    const place = file === '' ? '' : `${file}:${String(frame.lineNumber + 1)}`;
    const name = frame.functionName === '' ? '(anonymous)' : frame.functionName;
    const own = functions.get(`${name} ${place}`) ?? { name, place, us: 0 };
    own.us += us;
    functions.set(`${name} ${place}`, own);
    if (frame.url.startsWith('file:')) files.set(file, (files.get(file) ?? 0) + us);
  }
  const rows = [...functions.values()].map(({ name, place, us }) => ({
    ...{ name, place },
    selfShare: us / Math.max(busyUs, 1),
  }));
  rows.sort((a, b) => b.selfShare - a.selfShare);
  const [main = ['no file']] = [...files].sort(([, a], [, b]) => b - a);
  return { thread: main[0], busySeconds: busyUs / 1e6, rows };
}
