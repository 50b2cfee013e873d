/** What a machine's resolver is like, as text to compare, and which processes of ours run on it. */
import * as fs from 'node:fs';
import { systemOwners } from '../../main/system-dns/owners/owners.ts';
import type { ResolverOwner } from '../../main/system-dns/owners/owner.ts';
import type { Flavour } from '../../test/system-dns/support/machine.ts';

export class MachineState {
  readonly #owner: ResolverOwner;

  constructor(flavour: Flavour) {
    const name = flavour.startsWith('resolv.conf') ? 'resolv.conf' : flavour;
    const owner = systemOwners().find((one) => one.name === name);
    if (!owner) throw new Error(`no owner ${name}`);
    this.#owner = owner;
  }

  /** Everything that must be as before: what the owner keeps, and the file with all it has. */
  async read(): Promise<string> {
    const items = await this.#owner.capture();
    const state = items
      .map(({ label, properties }) => ({ label, properties }))
      .sort((one, other) => one.label.localeCompare(other.label));
    const file = fs.lstatSync('/etc/resolv.conf');
    const near = fs.readdirSync('/etc').filter((name) => name.includes('sluice'));
    const text = fs.readFileSync('/etc/resolv.conf', 'latin1');
    const lines = text.split('\n').filter((line) => /^(nameserver|search|options)/.test(line));
    // resolved writes its file anew, in any order; the others' must say the same, and one that
    // nobody owns must be the very same file.
    const servers = this.#owner.name === 'systemd-resolved' ? [] : lines;
    const inode = this.#owner.name === 'resolv.conf' ? file.ino : 0;
    const { mode, uid, gid } = file;
    return JSON.stringify({ state, mode, uid, gid, inode, near, servers });
  }

  /** Whether the owner is up. */
  async isReadable(): Promise<boolean> {
    return this.#owner.capture().then(
      (items) => items.length > 0,
      () => false,
    );
  }

  /** Command lines of guardians and network watches that run; '' when there are none. */
  leftProcesses(): string {
    const commands = fs
      .readdirSync('/proc')
      .filter((name) => /^\d+$/.test(name))
      .map(commandOf)
      .filter((command) => /^(\S*guardian-watcher|\S*node .*--jitless|ip monitor)\b/.test(command));
    return commands.join('; ');
  }
}

function commandOf(pid: string): string {
  try {
    return fs.readFileSync(`/proc/${pid}/cmdline`, 'latin1').replaceAll('\0', ' ');
  } catch {
    return ''; // it has ended
  }
}
