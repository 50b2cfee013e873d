/**
 * A clock that nobody sets: time since the machine started, sleep included. Read where wall time
 * must not decide, because a wrong clock may be put right at any moment.
 */
import { readFileSync } from 'node:fs';
import { uptime } from 'node:os';

export interface BootTime {
  /** Names this start of the machine; of this process, where the system has no name for it. */
  readonly id: string;
  /** Milliseconds since the machine started; goes on while it sleeps. Resolution: some 10 ms. */
  readonly elapsedMs: number;
}

let bootId: string | undefined;

export function bootTime(): BootTime {
  bootId ??= readBootId();
  return { id: bootId, elapsedMs: uptime() * 1_000 };
}

function readBootId(): string {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return crypto.randomUUID(); // not Linux, or no /proc
  }
}
