/**
 * How many handles (open files and sockets) this process may have, for parts that take many and
 * could do with fewer. Node raises the soft limit to the hard one itself when it starts. Any thread.
 */
import { readFileSync } from 'node:fs';

/** Handles that threads, listeners, log and lists hold, with room for what they open for a while. */
const RESERVE = 48;
/** Part of the others that one such part may take. */
const PART = 4;
/** What each of them gets in any case. */
const SHARE_MIN = 4;

/** The limit; null where it is unknown, as outside of Linux. Source: proc_pid_limits(5). */
export function handleLimit(file = '/proc/self/limits'): number | null {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync(file, 'latin1')) ?? [];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null; // not Linux, or no handle left to read it with: the usual bounds hold
  }
}

/** A bound on handles of one part: the usual one, or its share where handles are few. */
export function handlesFor(usual: number, limit = handleLimit()): number {
  if (limit === null) return usual;
  return Math.min(usual, Math.max(SHARE_MIN, Math.floor((limit - RESERVE) / PART)));
}
