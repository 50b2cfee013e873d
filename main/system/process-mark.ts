/**
 * Names one process so that another one, later, can tell whether it still lives: the PID alone is
 * given to others, and after a restart of the machine every PID is.
 */
import { readFileSync } from 'node:fs';

export interface ProcessMark {
  readonly pid: number;
  /** Start time in clock ticks since boot; '' where it cannot be read. */
  readonly start: string;
  /** Of the running kernel; '' where it cannot be read. */
  readonly bootId: string;
}

export function markOf(pid: number, proc = '/proc'): ProcessMark {
  return { pid, start: statOf(pid, proc).start, bootId: bootId(proc) };
}

/** True while exactly that process runs. A stopped one counts, a zombie does not. */
export function isAlive(mark: ProcessMark, proc = '/proc'): boolean {
  if (process.platform !== 'linux') return isPidTaken(mark.pid);
  const { start, state } = statOf(mark.pid, proc);
  if (start === '' || state === 'Z' || state === 'X') return false;
  return start === mark.start && bootId(proc) === mark.bootId;
}

export function bootId(proc = '/proc'): string {
  return read(`${proc}/sys/kernel/random/boot_id`).trim();
}

/** Fields 3 (state) and 22 (start time) of proc(5) stat; the name in field 2 may hold anything. */
function statOf(pid: number, proc: string): { readonly state: string; readonly start: string } {
  const text = read(`${proc}/${String(pid)}/stat`);
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return { state: fields[0] ?? '', start: fields[19] ?? '' };
}

function isPidTaken(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** A process that has gone reads as empty. */
function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
