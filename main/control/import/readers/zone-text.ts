/**
 * Records as text: "name [TTL] [IN] type data", as in a zone file (RFC 1035 §5.1) or in unbound's
 * local-data. Used by the readers beside this file.
 */
import { RECORD_TYPES, type RecordType } from '../../../contract/filter-words.ts';
import { durationSeconds, words } from '../draft/values.ts';

export interface RecordText {
  /** As written. */
  readonly name: string;
  /** Null when there is none. */
  readonly ttl: number | null;
  readonly type: RecordType;
  readonly data: string[];
}

/** Null for a line without a record of a type that the settings can have. */
export function readRecord(line: string): RecordText | null {
  const [name = '', ...rest] = words(line);
  const ttl = readTtl(rest[0] ?? '');
  if (ttl !== null) rest.shift();
  if (/^in$/i.test(rest[0] ?? '')) rest.shift();
  const written = rest.shift()?.toUpperCase() ?? '';
  const type = RECORD_TYPES.find((one) => one === written);
  return type === undefined || rest.length === 0 ? null : { name, ttl, type, data: rest };
}

/** Seconds, or with units: "2h". */
export function readTtl(written: string): number | null {
  return /^\d{1,7}$/.test(written) ? Number(written) : durationSeconds(written.toLowerCase());
}

/** A name of a zone file in full: "@" is the origin, and names without a dot at the end lie below it. */
export function fullName(name: string, origin: string): string {
  if (name === '@') return origin;
  return name.endsWith('.') || origin === '' ? name.replace(/\.$/, '') : `${name}.${origin}`;
}
