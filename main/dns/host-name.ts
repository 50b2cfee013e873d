/**
 * Whether a text can be the host of a server: a name that can be looked up, or an IP address. Used
 * by upstream-address.ts and dns-stamp.ts.
 */
import { isIP } from 'node:net';

const NAME =
  /^(?=.{1,253}$)([a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/;

/** @param text  in lower case; IPv6 without brackets */
export function isHost(text: string): boolean {
  if (isIP(text) > 0) return true;
  // A last label of digits would be read as part of an IPv4 address.
  return NAME.test(text) && !/(^|\.)\d+$/.test(text);
}
