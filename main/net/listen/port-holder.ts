/**
 * Finds which process holds a port, for the text of PORT_IN_USE. Linux only: the kernel's socket
 * tables give the socket's inode, the open files of each process give its owner. Other systems, and
 * processes of other users without root, get a shorter text.
 */
import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { basename } from 'node:path';

/** Who holds a port. */
export interface PortHolder {
  readonly pid: number;
  /** Name of the program, e.g. "dnsmasq". */
  readonly name: string;
  /** Its command line, cut at COMMAND_MAX characters. */
  readonly command: string;
  /** Unit of systemd that it belongs to, e.g. "dnsmasq.service"; '' when it is none. */
  readonly unit: string;
}

const COMMAND_MAX = 120;
/** State column of /proc/net/tcp: listening. */
const TCP_LISTEN = '0A';

/**
 * @param transport  which table to read
 * @param address    the address that could not be bound; wildcards and the other family's wildcard
 *                   conflict with it too
 * @param proc       for tests
 * @returns          null when nobody holds it any more or the owner may not be seen
 */
export function findPortHolder(
  transport: 'udp' | 'tcp',
  address: string,
  port: number,
  proc = '/proc',
): PortHolder | null {
  const inodes = conflicting(transport, address, port, proc);
  return inodes.size === 0 ? null : findOwner(inodes, proc);
}

/** Whether somebody holds the port, seen or not. False where there are no tables to read. */
export function isPortHeld(
  transport: 'udp' | 'tcp',
  address: string,
  port: number,
  proc = '/proc',
): boolean {
  return conflicting(transport, address, port, proc).size > 0;
}

/** Links, as in /proc/PID/fd, of the sockets that stand in the way. */
function conflicting(
  transport: 'udp' | 'tcp',
  address: string,
  port: number,
  proc: string,
): ReadonlySet<string> {
  const inodes = new Set<string>();
  for (const file of [transport, `${transport}6`]) {
    for (const line of readLines(`${proc}/net/${file}`)) {
      const inode = conflictingInode(line, transport, address, port);
      if (inode !== null) inodes.add(`socket:[${inode}]`);
    }
  }
  return inodes;
}

/** "by dnsmasq (dnsmasq.service, process 812: /usr/sbin/dnsmasq -k)", or that it cannot be seen. */
export function describeHolder(holder: PortHolder | null): string {
  if (holder === null) return 'by another program; run as root to see which';
  if (holder.pid === process.pid) return `by this process (${String(holder.pid)})`;
  const unit = holder.unit === '' ? '' : `${holder.unit}, `;
  return `by ${holder.name} (${unit}process ${String(holder.pid)}: ${holder.command})`;
}

/** One line of /proc/net/udp or tcp: "sl local rem st tx:rx tr:tm retr uid timeout inode …". */
function conflictingInode(
  line: string,
  transport: 'udp' | 'tcp',
  address: string,
  port: number,
): string | null {
  const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
  const [localHex = '', portHex = ''] = local.split(':');
  if (inode === undefined || parseInt(portHex, 16) !== port) return null;
  if (transport === 'tcp' && state !== TCP_LISTEN) return null;
  const wanted = addressHex(address);
  return [localHex, wanted].some(isAnyAddress) || localHex === wanted ? inode : null;
}

function isAnyAddress(hex: string | null): boolean {
  return hex === null || /^0+$/.test(hex);
}

/** IPv4 as the kernel prints it (host byte order); null for IPv6, where any holder is named. */
function addressHex(address: string): string | null {
  if (address.includes(':')) return null;
  return address
    .split('.')
    .reverse()
    .map((part) => Number(part).toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase();
}

function findOwner(links: ReadonlySet<string>, proc: string): PortHolder | null {
  for (const entry of readNames(proc)) {
    if (!/^\d+$/.test(entry)) continue;
    const isOwner = readNames(`${proc}/${entry}/fd`).some((fd) =>
      links.has(readLink(`${proc}/${entry}/fd/${fd}`)),
    );
    if (!isOwner) continue;
    const words = readLines(`${proc}/${entry}/cmdline`).join(' ').split('\0');
    // The short name of a process may be that of a thread; its program says more.
    const program = basename(words[0] ?? '');
    const name = program === '' ? (readLines(`${proc}/${entry}/comm`)[0] ?? '') : program;
    const command = words.join(' ').trim().slice(0, COMMAND_MAX);
    const unit = unitOf(entry, proc);
    return { pid: Number(entry), name, command: command === '' ? name : command, unit };
  }
  return null;
}

/** The system's unit that a process belongs to; '' when there is none, or only a user's. */
function unitOf(pid: string, proc: string): string {
  const lines = readLines(`${proc}/${pid}/cgroup`).join('\n');
  return /\/system\.slice\/(?:[^/\n]+\/)*([^/\n]+\.service)$/m.exec(lines)?.[1] ?? '';
}

/** Processes end while they are looked at, and others may not be looked into: both read as none. */
function attempt<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

function readLines(path: string): string[] {
  return attempt(() => readFileSync(path, 'utf8').split('\n'), []);
}

function readNames(path: string): string[] {
  return attempt(() => readdirSync(path), []);
}

function readLink(path: string): string {
  return attempt(() => readlinkSync(path), '');
}
