/**
 * Rights without root: which ways to port 53, and to the resolver's settings, this machine offers,
 * in the order in which they should be tried. Each comes with the very commands that install it, for
 * a person to read and run, and those that take it away again. Reads only; rights.ts installs.
 */
import { existsSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { changeableByUsers } from './root-files.ts';
import { serviceUnit } from './service-unit.ts';

export type RungState = 'works' | 'possible' | 'not here';

export type RightChange = 'install' | 'remove';

export interface Rung {
  readonly id: 'allowed' | 'owner-port' | 'no-password' | 'low-ports' | 'service';
  readonly state: RungState;
  readonly title: string;
  /** What it does and what else it allows, in plain sentences. */
  readonly explains: string;
  /** Commands for a terminal, one a line; '' when nothing is installed. */
  readonly installs: string;
  /** Commands that take it away. */
  readonly undo: string;
  /** What Sluice can do of it for a person who agrees; see rights.ts. */
  readonly offers: RightChange | '';
}

type PlainRung = Omit<Rung, 'offers'>;

export interface LadderFacts {
  /** First port that everybody may bind: ip_unprivileged_port_start. */
  readonly lowestFreePort: number;
  readonly isRoot: boolean;
  /** CAP_NET_BIND_SERVICE is in force. */
  readonly mayBind: boolean;
  /** The resolver's owner takes a server with a port. */
  readonly ownerTakesPort: boolean;
  readonly hasSystemd: boolean;
  /** Started by systemd, or the like. */
  readonly isService: boolean;
  /** The polkit rule of `no-password` is there. */
  readonly hasRule: boolean;
  /** The setting of `low-ports` is there. */
  readonly hasLowPorts: boolean;
  readonly userName: string;
  /** What starts this program without a window, for a service. */
  readonly command: string;
  /** A file of this program that a user can change; '' when only root can. */
  readonly changeable: string;
  /** Installs a copy that only root can change; '' when this is no checkout. */
  readonly installer: string;
}

/** Bit of CAP_NET_BIND_SERVICE, linux/capability.h. */
const CAP_NET_BIND_SERVICE = 10;
const DNS_PORT = 53;
const SYSCTL_FILE = '/etc/sysctl.d/60-sluice-port-53.conf';
const RULE_FILE = '/etc/polkit-1/rules.d/60-sluice-resolver.rules';
const UNIT_FILE = '/etc/systemd/system/sluice.service';

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
    isService: process.env['INVOCATION_ID'] !== undefined,
    hasRule: existsSync(RULE_FILE),
    hasLowPorts: existsSync(SYSCTL_FILE),
    userName: userName(),
    command: `${process.execPath} ${programEntry()}`,
    changeable: changeableByUsers([process.execPath, programEntry()]),
    installer: installCommand(),
  };
}

/** Rights for the program that runs; a service of the system would be another. */
const OFFERED: readonly Rung['id'][] = ['low-ports', 'no-password'];

export function portLadder(facts: LadderFacts): Rung[] {
  return plainLadder(facts).map((rung) => {
    const isOffered = OFFERED.includes(rung.id) && rung.state !== 'not here';
    return { ...rung, offers: !isOffered ? '' : rung.state === 'works' ? 'remove' : 'install' };
  });
}

function plainLadder(facts: LadderFacts): PlainRung[] {
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
    passwordRung(facts),
    lowPortsRung(facts, isAllowed),
    serviceRung(facts),
  ];
}

/** Root must not run at boot what a user can change: then a copy is installed that none can. */
function serviceRung({
  hasSystemd,
  isService,
  command,
  changeable,
  installer,
}: LadderFacts): PlainRung {
  const isSafe = changeable === '';
  const canInstall = isSafe || installer !== '';
  const unit = writeCommand(UNIT_FILE, serviceUnit(command, 'electron' in process.versions));
  return {
    id: 'service',
    state: hasSystemd && !isService && canInstall ? 'possible' : 'not here',
    title: 'Run Sluice as a service of the system',
    explains:
      'systemd starts it at boot with the right to port 53 and to the resolver. It has settings ' +
      'and a log of its own in /var/lib/sluice. Quit the one that runs now first.' +
      (isSafe ? '' : ` Root would run ${changeable}, which a user can change: a copy is needed.`),
    installs: `${isSafe ? unit : installer}
sudo systemctl daemon-reload
sudo systemctl enable --now sluice.service`,
    undo: `sudo systemctl disable --now sluice.service\n${isSafe ? `sudo rm ${UNIT_FILE}` : `${installer} -- --remove`}`,
  };
}

function lowPortsRung({ hasLowPorts }: LadderFacts, isAllowed: boolean): PlainRung {
  return {
    id: 'low-ports',
    state: hasLowPorts ? 'works' : isAllowed ? 'not here' : 'possible',
    title: 'Allow ports from 53 to every program of this machine',
    explains:
      'One setting of the kernel, kept over restarts. It allows ports 53 to 1023 to every ' +
      'program, not only to Sluice. Start Sluice again afterwards.',
    installs: `${writeCommand(SYSCTL_FILE, [`net.ipv4.ip_unprivileged_port_start = ${String(DNS_PORT)}`])}
sudo sysctl -p ${SYSCTL_FILE}`,
    undo: `sudo rm ${SYSCTL_FILE}\nsudo sysctl net.ipv4.ip_unprivileged_port_start=1024`,
  };
}

/** systemd-resolved asks polkit; the guardian could not answer a question for a password. */
function passwordRung({ ownerTakesPort, isRoot, hasRule, userName }: LadderFacts): PlainRung {
  const isNeeded = ownerTakesPort && !isRoot;
  return {
    id: 'no-password',
    state: isNeeded ? (hasRule ? 'works' : 'possible') : 'not here',
    title: 'Let this user change the DNS servers without a password',
    explains:
      'A rule for polkit, for this user and for the DNS settings only. With it the old servers come ' +
      'back also when nobody is there to type a password.',
    installs: writeCommand(RULE_FILE, [
      'polkit.addRule(function (action, subject) {',
      `  if (subject.user === "${userName}" && /^org\\.freedesktop\\.(resolve1\\.(set-(dns-servers|domains|default-route|dns-over-tls)|revert)|network1\\.(set-(dns-servers|domains|default-route|dns-over-tls)|revert-dns))$/.test(action.id)) return polkit.Result.YES;`,
      '});',
    ]),
    undo: `sudo rm ${RULE_FILE}`,
  };
}

/** One line of shell that writes a file: what is shown is what is written. */
function writeCommand(file: string, lines: readonly string[]): string {
  const quoted = lines.map((line) => `'${line.replaceAll("'", `'\\''`)}'`).join(' ');
  return `printf '%s\\n' ${quoted} | sudo tee ${file}`;
}

/** Of a build; sources are started as they are by their own runtime. */
function programEntry(here: string = import.meta.url): string {
  const root = here.slice(0, here.lastIndexOf('/main/') + '/main/'.length);
  return fileURLToPath(`${root}headless.${here.endsWith('.ts') ? 'ts' : 'js'}`);
}

function installCommand(here: string = import.meta.url): string {
  const root = fileURLToPath(here.slice(0, here.lastIndexOf('/main/'))).replace(/\/dist$/, '');
  const isCheckout = existsSync(join(root, 'tools', 'install-system.ts'));
  return isCheckout ? `sudo npm --prefix ${root} run install:system` : '';
}

function userName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without an entry in the user database.
    return String(process.getuid?.() ?? '');
  }
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
