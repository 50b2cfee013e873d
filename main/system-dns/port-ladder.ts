/**
 * Port 53 without root: which ways this machine offers, in the order in which they should be tried,
 * each with everything that would be installed and how to take it away again. Shown in the app
 * before anything is done. Reads only; `installCommand` is what a person agrees to.
 */
import { readFileSync } from 'node:fs';

export type RungState = 'works' | 'possible' | 'not here';

export interface Rung {
  readonly id: 'allowed' | 'owner-port' | 'low-ports' | 'socket';
  readonly state: RungState;
  readonly title: string;
  /** What it does and what else it allows, in plain sentences. */
  readonly explains: string;
  /** Files in full, path first, and commands; '' when nothing is installed. */
  readonly installs: string;
  /** How to take it away. */
  readonly undo: string;
}

export interface LadderFacts {
  /** First port that everybody may bind: ip_unprivileged_port_start. */
  readonly lowestFreePort: number;
  readonly isRoot: boolean;
  /** CAP_NET_BIND_SERVICE is in force. */
  readonly mayBind: boolean;
  /** The resolver's owner takes a server with a port. */
  readonly ownerTakesPort: boolean;
  readonly hasSystemd: boolean;
}

/** Bit of CAP_NET_BIND_SERVICE, linux/capability.h. */
const CAP_NET_BIND_SERVICE = 10;
const DNS_PORT = 53;
const SYSCTL_FILE = '/etc/sysctl.d/60-sluice-port-53.conf';
const SYSCTL_TEXT = `# Installed by Sluice: programs without root may listen on port ${String(DNS_PORT)} and above.
net.ipv4.ip_unprivileged_port_start = ${String(DNS_PORT)}
`;

/** @param proc  for tests */
export function ladderFacts(ownerTakesPort: boolean, proc = '/proc'): LadderFacts {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(read(`${proc}/self/status`))?.[1] ?? '0';
  const start = read(`${proc}/sys/net/ipv4/ip_unprivileged_port_start`).trim();
  return {
    lowestFreePort: start === '' ? 1024 : Number(start),
    isRoot: process.getuid?.() === 0,
    mayBind: ((BigInt(`0x${effective}`) >> BigInt(CAP_NET_BIND_SERVICE)) & 1n) === 1n,
    ownerTakesPort,
    hasSystemd: read(`${proc}/1/comm`).trim() === 'systemd',
  };
}

export function portLadder(facts: LadderFacts): Rung[] {
  const isAllowed = facts.isRoot || facts.mayBind || facts.lowestFreePort <= DNS_PORT;
  return [
    {
      id: 'allowed',
      state: isAllowed ? 'works' : 'not here',
      title: 'This program may listen on port 53 already',
      explains: isAllowed
        ? 'Nothing has to be installed.'
        : `This user may listen on ports from ${String(facts.lowestFreePort)}.`,
      ...{ installs: '', undo: '' },
    },
    {
      id: 'owner-port',
      state: facts.ownerTakesPort ? 'works' : 'not here',
      title: 'The system resolver can ask another port',
      explains: facts.ownerTakesPort
        ? 'systemd-resolved asks Sluice on the port it has. Nothing has to be installed.'
        : 'The resolver of this system asks port 53 only.',
      ...{ installs: '', undo: '' },
    },
    {
      id: 'low-ports',
      state: isAllowed ? 'not here' : 'possible',
      title: 'Allow ports from 53 to every program of this machine',
      explains:
        'One setting of the kernel, kept over restarts. It allows ports 53 to 1023 to every ' +
        'program, not only to Sluice.',
      installs: `${SYSCTL_FILE}:\n${SYSCTL_TEXT}\nthen: sysctl -p ${SYSCTL_FILE}`,
      undo: `rm ${SYSCTL_FILE}; sysctl net.ipv4.ip_unprivileged_port_start=1024`,
    },
    {
      id: 'socket',
      state: facts.hasSystemd && !isAllowed ? 'possible' : 'not here',
      title: 'Let systemd open port 53 and hand it over',
      explains:
        'systemd listens on 127.0.0.1:53 and [::1]:53 and gives these sockets to the Sluice ' +
        'service alone. Sluice then runs as a service, not in your session.',
      installs: 'resources/systemd/sluice.socket and sluice.service, to /etc/systemd/system',
      undo: 'systemctl disable --now sluice.socket sluice.service, and remove both files',
    },
  ];
}

/** What a person agrees to for a rung that is possible; asks for the password through polkit. */
export function installCommand(rung: Rung): readonly string[] | null {
  if (rung.id !== 'low-ports' || rung.state !== 'possible') return null;
  const script = `printf '%s' "$1" > ${SYSCTL_FILE} && sysctl -q -p ${SYSCTL_FILE}`;
  return ['pkexec', '/bin/sh', '-c', script, 'sluice', SYSCTL_TEXT];
}

/** Who holds port 53. */
export interface PortUser {
  readonly pid: number;
  readonly name: string;
  /** Unit of systemd, e.g. "dnsmasq.service"; '' when it is none. */
  readonly unit: string;
}

/** What a person can do about a port that is taken; nothing of it is done for them. */
export function portTakenAdvice(user: PortUser, address: string): string[] {
  const who = user.unit === '' ? `process ${String(user.pid)}` : user.unit;
  const stop =
    user.unit === '' ? `end process ${String(user.pid)}` : `systemctl disable --now ${user.unit}`;
  return [
    `${user.name} (${who}) listens on ${address}:53.`,
    `Let Sluice listen on another loopback address: sluice run --listen 127.0.0.2:53`,
    `Or keep it and ask it: put "${address}:53" first in dns.upstreams.`,
    `Or stop it yourself, if you do not need it: ${stop}`,
  ];
}

/** The unit a process belongs to; '' when there is none. */
export function unitOf(pid: number, proc = '/proc'): string {
  return /\/([^/\n]+\.service)$/m.exec(read(`${proc}/${String(pid)}/cgroup`))?.[1] ?? '';
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
