/**
 * The real resolver owners of Debian for tests: systemd-resolved, NetworkManager and openresolv,
 * downloaded with apt-get and unpacked into a folder of the user's cache. They are never installed:
 * the packages' own scripts would replace this machine's /etc/resolv.conf.
 */
import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../../tools/cache-folder.ts';

const PACKAGES = [
  ...['systemd', 'systemd-resolved', 'libsystemd-shared', 'libnss-resolve', 'udev', 'libudev1'],
  ...['network-manager', 'libnm0', 'libbluetooth3', 'libcurl3-gnutls', 'libmm-glib0', 'libndp0'],
  ...['libteamdctl0', 'libjansson4', 'libnewt0.52', 'libaudit1', 'libpsl5', 'libslang2'],
  ...['libssh2-1', 'librtmp1', 'libnghttp2-14'],
];
/** In a tree of its own: it and systemd-resolved both bring a program `resolvconf`. */
const RESOLVCONF = ['openresolv'];
/** Raise it when PACKAGES changes. */
const EDITION = 2;

/** An unpacked tree: `usr` to lay over /usr, `etc` to copy into a sandbox's /etc. */
export interface Binaries {
  readonly usr: string;
  readonly etc: string;
}

export interface OwnerBinaries {
  /** systemd-resolved and NetworkManager. */
  readonly services: Binaries;
  readonly openresolv: Binaries;
}

/** Unpacks them once per user. @throws when apt-get cannot download */
export function ownerBinaries(): OwnerBinaries {
  const folder = join(cacheFolder(), `linux-resolver-owners-${String(EDITION)}`);
  if (!existsSync(folder)) {
    mkdirSync(cacheFolder(), { recursive: true });
    const unfinished = mkdtempSync(`${folder}.unfinished-`);
    unpack(join(unfinished, 'services'), PACKAGES);
    unpack(join(unfinished, 'openresolv'), RESOLVCONF);
    renameSync(unfinished, folder);
  }
  const tree = (name: string): Binaries => ({
    usr: join(folder, name, 'usr'),
    etc: join(folder, name, 'etc'),
  });
  return { services: tree('services'), openresolv: tree('openresolv') };
}

function unpack(folder: string, packages: readonly string[]): void {
  const debs = join(folder, 'debs');
  mkdirSync(debs, { recursive: true });
  execFileSync('apt-get', ['-q', 'download', ...packages], { cwd: debs, stdio: 'pipe' });
  for (const deb of readdirSync(debs)) {
    execFileSync('dpkg', ['-x', join(debs, deb), folder], { stdio: 'pipe' });
  }
  rmSync(debs, { recursive: true });
  // Debian's /bin, /sbin and /lib are links into /usr.
  for (const name of ['bin', 'sbin', 'lib']) {
    const from = join(folder, name);
    if (!existsSync(from)) continue;
    cpSync(from, join(folder, 'usr', name), { recursive: true, verbatimSymlinks: true });
    rmSync(from, { recursive: true });
  }
}
