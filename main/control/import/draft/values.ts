/**
 * Reads values of which nothing is known, as they come out of YAML, TOML and JSON files of other
 * programs, and texts line by line. Used by the readers beside it. Everything here takes linear
 * time: the texts are somebody else's.
 */
import { isIP } from 'node:net';
import { LIMITS } from '../../../contract/limits.ts';

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

/** Whether a value that is off unless it says otherwise is on. */
export function isSet(value: unknown): boolean {
  return value === true || value === 1 || value === '1' || value === 'true' || value === 'yes';
}

/**
 * The lines of a text, trimmed, without empty ones. What lies beyond LIMITS.importRowsMax lines is
 * left out, and longer lines than LIMITS.importLineCharsMax are too.
 *
 * @param onLost  called at most once for each kind of loss, with the reason
 */
export function* linesOf(content: string, onLost: (why: string) => void): Generator<string> {
  let count = 0;
  for (let start = 0; start < content.length;) {
    const feed = content.indexOf('\n', start);
    const end = feed < 0 ? content.length : feed;
    if (end - start > LIMITS.importLineCharsMax) onLost('a line is too long');
    else {
      const line = content.slice(start, end).trim();
      if (line !== '' && ++count > LIMITS.importRowsMax) {
        onLost('the file is too long; add it as a list instead');
        return;
      }
      if (line !== '') yield line;
    }
    start = end + 1;
  }
}

/** A line without the comment that `#` begins at its start or after a blank, trimmed. */
export function withoutComment(line: string): string {
  for (let at = line.indexOf('#'); at >= 0; at = line.indexOf('#', at + 1)) {
    if (at === 0 || isBlank(line.charCodeAt(at - 1))) return line.slice(0, at).trimEnd();
  }
  return line;
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x09;
}

/** The words of a line. */
export function words(line: string): string[] {
  return line.split(/[ \t]+/).filter((word) => word !== '');
}

/** The parts between commas, trimmed; empty ones stay, because they have a place. */
export function commaParts(value: string): string[] {
  return value.split(',').map((part) => part.trim());
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

/** "A" or "AAAA" for an address; '' for anything else. */
export function addressType(value: string): 'A' | 'AAAA' | '' {
  const family = isIP(value);
  if (family === 0) return '';
  return family === 4 ? 'A' : 'AAAA';
}

/** Whether an address says that the name is blocked: 0.0.0.0, ::, and the machine's own. */
export function isSinkhole(address: string): boolean {
  return (
    /^(?:0\.0\.0\.0|::|::1|255\.255\.255\.255)$/.test(address) ||
    (isIP(address) === 4 && address.startsWith('127.'))
  );
}

/** Seconds of a duration as Go programs write it ("1h", "90s", "1h30m"); null for anything else. */
export function durationSeconds(value: string): number | null {
  const parts = /^(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,8})s)?$/.exec(value);
  if (parts === null || value === '') return null;
  const [hours, minutes, seconds] = [1, 2, 3].map((part) => Number(parts[part] ?? 0));
  return (hours as number) * 3_600 + (minutes as number) * 60 + (seconds as number);
}
