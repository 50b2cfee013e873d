/**
 * Turns the values of local records and redirects into RDATA. Used by the settings check, which
 * needs to know whether they can be, and by local-records.ts; pure.
 */
import { isIP } from 'node:net';
import type { RecordSettings } from '../../contract/filter-config.ts';
import { LIMITS } from '../../contract/limits.ts';
import { writeName } from '../../dns/name.ts';
import { TYPE } from '../../dns/wire.ts';
import { parseAddress } from '../../net/listen/client-address.ts';

/** Longest string in TXT. RFC 1035 §3.3. */
const STRING_BYTES_MAX = 255;

/** Type and RDATA as they stand in an answer; names are not compressed. */
export interface RecordData {
  readonly type: number;
  readonly rdata: Uint8Array;
}

export const RECORD_TYPE_NUMBERS: Readonly<Record<RecordSettings['type'], number>> = {
  A: TYPE.a,
  AAAA: TYPE.aaaa,
  CNAME: TYPE.cname,
  TXT: TYPE.txt,
  MX: 15,
  SRV: 33,
  PTR: 12,
};

/** What a value of a type has to look like, for messages. */
export const RECORD_EXAMPLES: Readonly<Record<RecordSettings['type'], string>> = {
  A: 'an IPv4 address such as 192.168.0.10',
  AAAA: 'an IPv6 address such as fd00::10',
  CNAME: 'a domain name such as nas.example',
  TXT: 'a text of at most 4096 bytes',
  MX: 'a preference and a name, such as "10 mail.example"',
  SRV: 'priority, weight, port and a name, such as "0 5 443 host.example"',
  PTR: 'a domain name such as nas.example',
};

/** RDATA for a value in the form of a zone file; undefined when it has another form. */
export function recordData(type: RecordSettings['type'], value: string): Uint8Array | undefined {
  const text = value.trim();
  switch (type) {
    case 'A':
    case 'AAAA':
      return addressData(text, type === 'A' ? 4 : 6);
    case 'CNAME':
    case 'PTR':
      return nameData(text);
    case 'TXT':
      return textData(value);
    case 'MX':
      return numbersAndName(text, 1);
    case 'SRV':
      return numbersAndName(text, 3);
  }
}

/** An address of the family wanted, 4 or 16 bytes. */
export function addressData(text: string, family: 4 | 6): Uint8Array | undefined {
  if (isIP(text) !== family || text.includes('%')) return undefined;
  const bytes = new Uint8Array(16);
  parseAddress(text, bytes);
  return family === 4 ? bytes.slice(12) : bytes;
}

/** A name in wire form with its root label. */
export function nameData(text: string): Uint8Array | undefined {
  const wire = new Uint8Array(LIMITS.nameBytesMax);
  if (text === '' || /[\s*]/.test(text)) return undefined;
  const length = writeName(text, wire, 0);
  return length <= 0 ? undefined : wire.slice(0, length + 1);
}

/** Strings of up to 255 bytes each; a text in double quotes is taken without them. */
function textData(value: string): Uint8Array {
  const inner = /^"([^"]*)"$/.exec(value)?.[1] ?? value;
  const bytes = Buffer.from(inner);
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length || at === 0; at += STRING_BYTES_MAX) {
    const part = bytes.subarray(at, at + STRING_BYTES_MAX);
    parts.push(Buffer.from([part.length]), part);
  }
  return Uint8Array.from(Buffer.concat(parts));
}

function numbersAndName(text: string, count: number): Uint8Array | undefined {
  const parts = text.split(/\s+/);
  const name = nameData(parts[count] ?? '');
  if (parts.length !== count + 1 || name === undefined) return undefined;
  const numbers = parts.slice(0, count).map((part) => (/^\d{1,5}$/.test(part) ? Number(part) : -1));
  if (numbers.some((number) => number < 0 || number > 65_535)) return undefined;
  return Uint8Array.from([...numbers.flatMap((number) => [number >>> 8, number & 0xff]), ...name]);
}
