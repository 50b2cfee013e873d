/**
 * resolvconf (Debian's or openresolv): a record of our own, which goes before all others. Giving
 * back is deleting it; nothing of the user's is touched.
 */
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import type { RunCommand } from '../../system/command.ts';
import type { Detection, DnsServer, OwnerItem, Properties, ResolverOwner } from './owner.ts';
import { nameservers } from './resolv-conf.ts';

/** "lo" first: both kinds put records of loopback interfaces before the others. */
const RECORD = 'lo.sluice';
const RECORD_FILES = [
  'run/resolvconf/interface',
  'run/resolvconf/interfaces',
  'run/resolvconf/keys',
];
const DNS_PORT = 53;

export interface ResolvconfOptions {
  readonly run: RunCommand;
  /** Root of the file system, for tests. */
  readonly root?: string;
}

export class ResolvconfOwner implements ResolverOwner {
  readonly name = 'resolvconf';
  readonly #run: RunCommand;
  readonly #root: string;

  constructor({ run, root = '/' }: ResolvconfOptions) {
    this.#run = run;
    this.#root = root;
  }

  detect(): Promise<Detection> {
    const program = ['usr/sbin/resolvconf', 'sbin/resolvconf', 'usr/bin/resolvconf']
      .map((path) => this.#root + path)
      .find((path) => existsSync(path));
    // systemd brings a program of this name that is resolvectl.
    const isPresent = program !== undefined && basename(realpathSync(program)) === 'resolvconf';
    const isInCharge = isPresent && /resolvconf/i.test(this.#file().split('\n', 4).join('\n'));
    const does = isInCharge ? 'writes /etc/resolv.conf' : 'does not write /etc/resolv.conf';
    const detail = isPresent ? `resolvconf is installed and ${does}` : 'no resolvconf';
    return Promise.resolve({ isPresent, isInCharge, takesPort: false, detail });
  }

  capture(): Promise<OwnerItem[]> {
    const item: OwnerItem = {
      key: RECORD,
      label: 'resolvconf',
      skip: '',
      properties: { record: this.#record() },
      servers: nameservers(this.#file()),
      routingDomains: [],
    };
    return Promise.resolve([item]);
  }

  target(_before: OwnerItem, servers: readonly DnsServer[]): Properties | null {
    if (servers.some(({ port }) => port !== DNS_PORT)) return null;
    return { record: servers.map(({ address }) => `nameserver ${address}\n`).join('') };
  }

  async write(_before: OwnerItem, properties: Properties): Promise<void> {
    const { record } = properties;
    if (typeof record === 'string') {
      await this.#run('resolvconf', [...(await this.#exclusive()), '-a', RECORD], {
        input: record,
      });
    } else if (record === null) {
      await this.#run('resolvconf', ['-d', RECORD]);
    }
  }

  async release(): Promise<void> {
    await this.#run('resolvconf', ['-d', RECORD]);
  }

  settle(): Promise<void> {
    return Promise.resolve();
  }

  /** openresolv can leave all other records out; Debian's stops at a loopback server by itself. */
  async #exclusive(): Promise<string[]> {
    const version = await this.#run('resolvconf', ['--version']).catch(() => '');
    return version.includes('openresolv') ? ['-x'] : [];
  }

  #record(): string | null {
    for (const folder of RECORD_FILES) {
      const path = `${this.#root}${folder}/${RECORD}`;
      if (existsSync(path)) return readFileSync(path, 'utf8');
    }
    return null;
  }

  #file(): string {
    const path = `${this.#root}etc/resolv.conf`;
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }
}
