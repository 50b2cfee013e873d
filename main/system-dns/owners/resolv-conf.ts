/**
 * The text of a resolv.conf: reading its servers, and writing ours in place of them. Pure; used by
 * the adapters of the file and of resolvconf. Format: resolv.conf(5).
 */
import type { DnsServer } from './owner.ts';

/** First line of the file while we are on. */
export const HEADER =
  '# Sluice answers here; the file from before is kept as resolv.conf.sluice-before.';

/** The addresses of all nameserver lines, in order. */
export function nameservers(text: string): string[] {
  return [...text.matchAll(/^[ \t]*nameserver[ \t]+(\S+)/gm)].map((match) => match[1] ?? '');
}

/**
 * The file that leads to us: our servers, and every other line of the file from before except
 * comments (search domains and options stay).
 *
 * @returns null when a server needs a port, which the format cannot say
 */
export function ourText(before: string, servers: readonly DnsServer[]): string | null {
  if (servers.length === 0 || servers.some(({ port }) => port !== 53)) return null;
  const kept = before
    .split('\n')
    .filter((line) => /^[ \t]*(search|domain|options|sortlist)[ \t]/.test(line));
  const own = servers.map(({ address }) => `nameserver ${address}`);
  return `${[HEADER, ...own, ...kept].join('\n')}\n`;
}

/**
 * A file that somebody edited while we were on: the servers from before take the place of ours,
 * everything else stays as it was edited.
 */
export function withServersBack(edited: string, before: string, ours: readonly string[]): string {
  const back = nameservers(before).map((address) => `nameserver ${address}`);
  const lines = edited.split('\n').filter((line) => line !== HEADER);
  const at = lines.findIndex((line) => isServerLine(line, ours));
  const rest = lines.filter((line) => !isServerLine(line, ours));
  rest.splice(at < 0 ? rest.length : at, 0, ...back);
  return rest.join('\n');
}

function isServerLine(line: string, servers: readonly string[]): boolean {
  return nameservers(line).some((address) => servers.includes(address));
}
