/**
 * What a process used, from /proc: CPU seconds in all and by thread, resident memory and its
 * anonymous part, and what the kernel dropped at its UDP sockets. Linux only.
 */
import { readFileSync, readdirSync } from 'node:fs';

const TICKS_PER_SECOND = 100;

export interface Usage {
  readonly cpuSeconds: number;
  /** Thread id and name → CPU seconds. */
  readonly threads: ReadonlyMap<string, number>;
  readonly rssBytes: number;
  readonly anonymousBytes: number;
}

export function usageOf(pid: number): Usage {
  const threads = new Map<string, number>();
  for (const id of readdirSync(`/proc/${String(pid)}/task`)) {
    try {
      const stat = readFileSync(`/proc/${String(pid)}/task/${id}/stat`, 'utf8');
      threads.set(`${id} ${nameIn(stat)}`, cpuIn(stat));
    } catch {
      threads.delete(id); // the thread has just ended
    }
  }
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return {
    cpuSeconds: cpuIn(readFileSync(`/proc/${String(pid)}/stat`, 'utf8')),
    threads,
    rssBytes: kibIn(status, 'VmRSS') * 1024,
    anonymousBytes: kibIn(status, 'RssAnon') * 1024,
  };
}

/** The share of one core that the busiest thread took between two readings. */
export function busiestThreadShare(before: Usage, after: Usage, seconds: number): number {
  let most = 0;
  for (const [id, cpu] of after.threads) {
    most = Math.max(most, (cpu - (before.threads.get(id) ?? 0)) / seconds);
  }
  return most;
}

/** Datagrams that the kernel dropped at sockets bound to this port, since they were opened. */
export function udpDropsAt(port: number): number {
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  let drops = 0;
  for (const table of ['/proc/net/udp', '/proc/net/udp6']) {
    for (const line of readFileSync(table, 'utf8').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/);
      if (fields[1]?.endsWith(wanted) === true) drops += Number(fields.at(-1));
    }
  }
  return drops;
}

/** Busy and total CPU seconds of the whole machine since boot. */
export function machineCpu(): { busy: number; total: number } {
  const fields = (readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? '').split(/\s+/).slice(1);
  const ticks = fields.map(Number);
  const total = ticks.slice(0, 8).reduce((sum, value) => sum + value, 0);
  const idle = (ticks[3] ?? 0) + (ticks[4] ?? 0);
  return { busy: (total - idle) / TICKS_PER_SECOND, total: total / TICKS_PER_SECOND };
}

function nameIn(stat: string): string {
  return stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
}

function cpuIn(stat: string): number {
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function kibIn(status: string, key: string): number {
  return Number(new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(status)?.[1] ?? 0);
}
