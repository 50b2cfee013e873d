/**
 * What kind of network link a name stands for, read from /sys/class/net. Used by the Linux adapters
 * to leave tunnels and the bridges of containers alone.
 */
import { existsSync, readFileSync } from 'node:fs';

export type LinkKind = 'ordinary' | 'tunnel' | 'loopback' | 'container' | 'gone';

/** ARPHRD_* of linux/if_arp.h. */
const ARPHRD_LOOPBACK = 772;
const ARPHRD_TUNNELS = new Set([
  512, // PPP
  768, // IPIP
  769, // IP6IP6
  776, // SIT
  778, // GRE
  823, // IP6GRE
  0xfffe, // no hardware: tun, WireGuard
]);
/** Bridges and links that carry the traffic of containers and machines, not this machine's. */
const CONTAINER_NAMES =
  /^(docker\d|br-[0-9a-f]{12}$|veth[0-9a-f]{6,}|virbr\d|lxcbr\d|lxdbr\d|podman\d|cni\d|vnet\d|flannel)/;

/** @param sys  for tests */
export function linkKind(name: string, sys = '/sys'): LinkKind {
  const folder = `${sys}/class/net/${name}`;
  const type = Number(readText(`${folder}/type`));
  if (!existsSync(folder)) return 'gone';
  if (type === ARPHRD_LOOPBACK) return 'loopback';
  if (ARPHRD_TUNNELS.has(type) || existsSync(`${folder}/tun_flags`)) return 'tunnel';
  if (/^DEVTYPE=(wireguard|tun|ppp)$/m.test(readText(`${folder}/uevent`))) return 'tunnel';
  return CONTAINER_NAMES.test(name) ? 'container' : 'ordinary';
}

/** True while the link is up and has a carrier, or cannot tell. */
export function isLinkUp(name: string, sys = '/sys'): boolean {
  const state = readText(`${sys}/class/net/${name}/operstate`).trim();
  return state === 'up' || state === 'unknown';
}

/** Index of a link; 0 when it is gone. */
export function linkIndex(name: string, sys = '/sys'): number {
  return Number(readText(`${sys}/class/net/${name}/ifindex`)) || 0;
}

/** Why a link of that kind is left alone; '' when it is to be covered. */
export function skipReason(kind: LinkKind): string {
  switch (kind) {
    case 'ordinary':
      return '';
    case 'tunnel':
      return 'a tunnel: its own names stay with its own servers';
    case 'container':
      return 'carries containers or virtual machines: they ask their own servers';
    case 'loopback':
      return 'the loopback link asks nobody';
    case 'gone':
      return 'the link has gone';
  }
}

/** Links come and go while they are looked at; one that went reads as empty. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
