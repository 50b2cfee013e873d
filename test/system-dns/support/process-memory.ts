/** Memory of another process, found by its name. Used inside a sandbox, where names are few. */
import * as fs from 'node:fs';

/** @returns resident KiB of the first process of that name; 0 when there is none */
export function rssKib(name: string): number {
  for (const pid of fs.readdirSync('/proc').filter((one) => /^\d+$/.test(one))) {
    try {
      const status = fs.readFileSync(`/proc/${pid}/status`, 'utf8');
      if (!status.startsWith(`Name:\t${name.slice(0, 15)}\n`)) continue;
      return Number(/VmRSS:\s*(\d+)/.exec(status)?.[1]);
    } catch {
      // It ended meanwhile.
    }
  }
  return 0;
}
