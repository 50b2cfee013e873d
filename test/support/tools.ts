/**
 * Which system programs are there. A test that needs one says so by name when it is missing, with
 * the line that installs it; `npm test` repeats the list at its end.
 */
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

const PACKAGES = {
  dig: 'bind9-dnsutils',
  kdig: 'knot-dnsutils',
  drill: 'ldnsutils',
  dnsdist: 'dnsdist',
  unshare: 'util-linux',
  prlimit: 'util-linux',
  setpriv: 'util-linux',
  getent: 'libc-bin',
  unbound: 'unbound',
  openssl: 'openssl',
  dnsmasq: 'dnsmasq-base',
  dnsperf: 'dnsperf',
  chromium: 'chromium',
  'xvfb-run': 'xvfb xauth',
  'dbus-run-session': 'dbus',
  ip: 'iproute2',
  cc: 'gcc',
  'g++': 'g++',
} as const;
export type Tool = keyof typeof PACKAGES;

/** The full path of a program, or null. */
export function findTool(tool: string): string | null {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin'];
  for (const folder of folders) {
    try {
      accessSync(join(folder, tool), constants.X_OK);
      return join(folder, tool);
    } catch {
      continue;
    }
  }
  return null;
}

/** For node:test's `skip`: false when all tools are there, else what is missing. */
export function missingTools(...tools: Tool[]): string | false {
  const missing = tools.filter((tool) => findTool(tool) === null);
  if (missing.length === 0) return false;
  const packages = missing.map((tool) => PACKAGES[tool]).join(' ');
  return `needs ${missing.join(', ')}; install with: apt-get install ${packages}`;
}
