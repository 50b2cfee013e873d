/**
 * Reads values of which nothing is known, as they come out of YAML, TOML and JSON files of other
 * programs. Used by the readers beside it.
 */
import { isIP } from 'node:net';
import { LIMITS } from '../../contract/limits.ts';

export type Fields = Readonly<Record<string, unknown>>;

/** The value as a mapping; an empty one for anything else. */
export function fields(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Fields)
    : {};
}

/** The value as a list, at most LIMITS.importRowsMax long; a single text is a list of one. */
export function items(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value.slice(0, LIMITS.importRowsMax) as unknown[];
  return typeof value === 'string' && value !== '' ? [value] : [];
}

/** The value as text; '' for what is neither text nor number. */
export function text(value: unknown): string {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' ? value.trim() : '';
}

/** The texts of a list. */
export function texts(value: unknown): string[] {
  return items(value)
    .map(text)
    .filter((one) => one !== '');
}

/** A value that is true unless it says otherwise; SQLite and PHP write 0 and "0". */
export function isOn(value: unknown): boolean {
  return value !== false && value !== 0 && value !== '0' && value !== 'false';
}

/** What an id of a client is in other programs: an address, a network, a MAC; '' for anything else. */
export function clientIdOf(value: string): string {
  const id = value.trim();
  if (/^([0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(id)) return id.toLowerCase().replaceAll('-', ':');
  const [address = '', prefix] = id.split('/');
  const family = isIP(address);
  if (family === 0) return '';
  if (prefix === undefined) return id;
  return /^\d{1,3}$/.test(prefix) && Number(prefix) <= (family === 4 ? 32 : 128) ? id : '';
}

/** "1.2.3.4", "1.2.3.4#5353" (dnsmasq, Pi-hole) as an upstream; other texts as they are. */
export function dnsmasqServer(value: string): string {
  const [address = '', port] = value.split('#', 2);
  if (port === undefined || !/^\d+$/.test(port) || isIP(address) === 0) return value;
  if (port === '53') return address;
  return isIP(address) === 6 ? `[${address}]:${port}` : `${address}:${port}`;
}

/** The reverse suffix of a network, for a server that knows its names; '' when it has none. */
export function reverseSuffix(network: string): string {
  const [address = '', prefix = '32'] = network.split('/');
  if (isIP(address) !== 4) return '';
  const labels = Math.floor(Number(prefix) / 8);
  if (!(labels >= 1 && labels <= 4)) return '';
  return `${address.split('.').slice(0, labels).reverse().join('.')}.in-addr.arpa`;
}
