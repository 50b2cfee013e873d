/**
 * The real resolver owners of Debian for tests: systemd-resolved, NetworkManager and openresolv,
 * downloaded with apt-get and unpacked into a folder of the user's cache. They are never installed:
 * the packages' own scripts would replace this machine's /etc/resolv.conf.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { cacheFolder } from '../../../main/launch/cache-folder.ts';

const PACKAGES = [
  ...['systemd', 'systemd-resolved', 'libsystemd-shared', 'libnss-resolve', 'udev', 'libudev1'],
  ...['network-manager', 'libnm0', 'libbluetooth3', 'libcurl3-gnutls', 'libmm-glib0', 'libndp0'],
  ...['libteamdctl0', 'libjansson4', 'libnewt0.52', 'libaudit1', 'libpsl5', 'libslang2'],
  ...['libssh2-1', 'librtmp1', 'libnghttp2-14', 'openresolv'],
];
/** Raise it when PACKAGES changes. */
const EDITION = 1;

/** Where the unpacked tree is: `usr` to lay over /usr, `etc` to copy into a sandbox's /etc. */
export interface OwnerBinaries {
  readonly usr: string;
  readonly etc: string;
}

/** Unpacks them once per user. @throws when apt-get cannot download */
export function ownerBinaries(): OwnerBinaries {
  const folder = join(cacheFolder(), `linux-resolver-owners-${String(EDITION)}`);
  if (!existsSync(folder)) {
    mkdirSync(cacheFolder(), { recursive: true });
    const unfinished = mkdtempSync(`${folder}.unfinished-`);
    unpack(unfinished);
    renameSync(unfinished, folder);
  }
  return { usr: join(folder, 'usr'), etc: join(folder, 'etc') };
}

function unpack(folder: string): void {
  const debs = join(folder, 'debs');
  mkdirSync(debs);
  execFileSync('apt-get', ['-q', 'download', ...PACKAGES], { cwd: debs, stdio: 'pipe' });
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
