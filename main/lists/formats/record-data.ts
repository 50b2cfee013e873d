/**
 * RDATA in wire form from the presentation form that lists and settings have: A, AAAA, CNAME, MX,
 * TXT, PTR, SRV, SVCB and HTTPS. RFC 1035 §5.1, RFC 2782, RFC 9460 §2.1.
 */
import { writeName } from '../../dns/name.ts';
import { readRecordAddress } from './address-bytes.ts';

/** Types whose data can be read; others are -1 for `recordType`. */
const TYPES: Readonly<Record<string, number>> = {
  A: 1,
  CNAME: 5,
  PTR: 12,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  SVCB: 64,
  HTTPS: 65,
};
const STRING_MAX = 255;
const TEXT_MAX = 2_048;

/** The number of a type that `writeRecordData` can read, upper case; -1 of any other. */
export function recordType(text: string): number {
  return Object.hasOwn(TYPES, text) ? (TYPES[text] as number) : -1;
}

/** The data, names in it not compressed; null when the value does not fit the type. */
export function writeRecordData(type: number, value: string): Uint8Array | null {
  switch (type) {
    case TYPES['A']:
    case TYPES['AAAA']: {
      const bytes = readRecordAddress(value);
      return bytes?.length === (type === TYPES['A'] ? 4 : 16) ? bytes : null;
    }
    case TYPES['CNAME']:
    case TYPES['PTR']:
      return wireName(value);
    case TYPES['MX']:
      return writeNumbersAndName(value, 1);
    case TYPES['SRV']:
      return writeNumbersAndName(value, 3);
    case TYPES['TXT']:
      return writeStrings(value);
    case TYPES['SVCB']:
    case TYPES['HTTPS']:
      return writeService(value);
    default:
      return null;
  }
}

/** A whole name with its root label; null when it is none. */
export function wireName(text: string): Uint8Array | null {
  const bytes = new Uint8Array(256);
  const length = /\s/.test(text) || text === '' ? -1 : writeName(text, bytes, 0);
  return length < 0 ? null : bytes.slice(0, length + 1);
}

/** `10 mail.example`, `0 5 443 host.example`. */
function writeNumbersAndName(value: string, numbers: number): Uint8Array | null {
  const words = value.trim().split(/\s+/);
  const name = wireName(words[numbers] ?? '');
  const parts = words.slice(0, numbers).map(uint16);
  if (name === null || words.length !== numbers + 1 || parts.includes(null)) return null;
  return Buffer.concat([...(parts as Buffer[]), name]);
}

function uint16(text: string): Buffer | null {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 0xffff) return null;
  return Buffer.from([Number(text) >> 8, Number(text) & 0xff]);
}

/** Quoted strings side by side, or one text; cut into strings of 255 bytes. */
function writeStrings(value: string): Uint8Array | null {
  const quoted = [...value.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text]) => text ?? '');
  const texts = quoted.length > 0 ? quoted : [value];
  const parts: Buffer[] = [];
  for (const text of texts) {
    const bytes = Buffer.from(text.replaceAll(/\\(.)/g, '$1'));
    for (let at = 0; at === 0 || at < bytes.length; at += STRING_MAX) {
      const piece = bytes.subarray(at, at + STRING_MAX);
      parts.push(Buffer.from([piece.length]), piece);
    }
  }
  const data = Buffer.concat(parts);
  return data.length > TEXT_MAX ? null : data;
}

/** `1 . alpn=h2,h3 ipv4hint=192.0.2.1`; parameters in the order of their keys. */
function writeService(value: string): Uint8Array | null {
  const [priority = '', target = '', ...words] = value.trim().split(/\s+/);
  const head = uint16(priority);
  const name = target === '.' ? new Uint8Array(1) : wireName(target);
  const params = readParams(words);
  if (head === null || name === null || params === null) return null;
  const parts = [...params]
    .sort(([left], [right]) => left - right)
    .flatMap(([key, data]) => [pair(key), pair(data.length), data]);
  return Buffer.concat([head, name, ...parts]);
}

/** Values in wire form by key; null when one cannot be read or comes twice. */
function readParams(words: readonly string[]): Map<number, Uint8Array> | null {
  const params = new Map<number, Uint8Array>();
  for (const word of words) {
    const cut = word.indexOf('=');
    const key = keyNumber(cut < 0 ? word : word.slice(0, cut));
    const text = cut < 0 ? '' : word.slice(cut + 1).replaceAll('"', '');
    const data = key < 0 ? null : writeParam(key, text);
    if (data === null || params.has(key)) return null;
    params.set(key, data);
  }
  return params;
}

const KEYS = [
  'mandatory',
  'alpn',
  'no-default-alpn',
  'port',
  'ipv4hint',
  'ech',
  'ipv6hint',
  'dohpath',
];

function keyNumber(text: string): number {
  const known = KEYS.indexOf(text.toLowerCase());
  if (known >= 0) return known;
  const digits = /^key(\d{1,5})$/.exec(text)?.[1];
  return digits !== undefined && Number(digits) < 0xffff ? Number(digits) : -1;
}

function writeParam(key: number, text: string): Uint8Array | null {
  const items = text.split(',').filter((item) => item !== '');
  switch (KEYS[key]) {
    case 'mandatory':
      return concat(items.map((item) => (keyNumber(item) < 0 ? null : pair(keyNumber(item)))));
    case 'alpn':
      return concat(items.map((item) => Buffer.from([item.length, ...Buffer.from(item)])));
    case 'no-default-alpn':
      return text === '' ? new Uint8Array(0) : null;
    case 'port':
      return uint16(text);
    case 'ipv4hint':
    case 'ipv6hint': {
      const size = KEYS[key] === 'ipv4hint' ? 4 : 16;
      const addresses = items.map(readRecordAddress);
      return addresses.every((one) => one?.length === size) ? concat(addresses) : null;
    }
    case 'ech':
      return Buffer.from(text, 'base64');
    default:
      return Buffer.from(text);
  }
}

function concat(parts: readonly (Uint8Array | null)[]): Uint8Array | null {
  return parts.length === 0 || parts.includes(null) ? null : Buffer.concat(parts as Uint8Array[]);
}

function pair(number: number): Buffer {
  return Buffer.from([number >> 8, number & 0xff]);
}
