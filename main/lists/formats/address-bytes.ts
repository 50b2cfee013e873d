/**
 * IP addresses and networks from text into the 16 bytes that the engine compares. Used by the line
 * parsers, for triggers, conditions and answers.
 */
import { isIPv4, isIPv6 } from 'node:net';

export interface NetworkBytes {
  /** 16 bytes, IPv4 as ::ffff:a.b.c.d; 0 behind the prefix. */
  readonly bytes: Uint8Array;
  /** Of the 128. */
  readonly bits: number;
  readonly isV4: boolean;
}

/** An address with a prefix length or without; null when it is none. */
export function readNetwork(text: string): NetworkBytes | null {
  const [address = '', length, ...rest] = text.split('/');
  const bytes = readAddress(address);
  if (bytes === null || rest.length > 0) return null;
  const isV4 = isIPv4(address);
  if (length === undefined) return { bytes, bits: 128, isV4 };
  if (!/^\d{1,3}$/.test(length) || Number(length) > (isV4 ? 32 : 128)) return null;
  const bits = Number(length) + (isV4 ? 96 : 0);
  for (let bit = bits; bit < 128; bit++) {
    bytes[bit >> 3] = (bytes[bit >> 3] as number) & ~(0x80 >> (bit & 7));
  }
  return { bytes, bits, isV4 };
}

/** 16 bytes; null when the text is no address. */
export function readAddress(text: string): Uint8Array | null {
  const bytes = new Uint8Array(16);
  if (isIPv4(text)) {
    bytes.set([0xff, 0xff, ...text.split('.').map(Number)], 10);
    return bytes;
  }
  if (!isIPv6(text) || text.includes('%')) return null;
  const [head = '', tail] = expandTail(text).split('::');
  const front = wordsOf(head);
  const back = tail === undefined ? [] : wordsOf(tail);
  const words = [...front, ...new Array<number>(8 - front.length - back.length).fill(0), ...back];
  for (const [index, word] of words.entries()) bytes.set([word >> 8, word & 255], index * 2);
  return bytes;
}

/** 4 bytes of an IPv4 address, 16 of an IPv6 one, as in the records A and AAAA; null if none. */
export function readRecordAddress(text: string): Uint8Array | null {
  const bytes = readAddress(text);
  return bytes !== null && isIPv4(text) ? bytes.slice(12) : bytes;
}

/** Dotted digits at the end of an IPv6 address as two words. */
function expandTail(text: string): string {
  const [, head, ...digits] = /^(.*:)(\d+)\.(\d+)\.(\d+)\.(\d+)$/.exec(text) ?? [];
  if (head === undefined) return text;
  const [a = 0, b = 0, c = 0, d = 0] = digits.map(Number);
  return `${head}${((a << 8) | b).toString(16)}:${((c << 8) | d).toString(16)}`;
}

function wordsOf(text: string): number[] {
  return text === '' ? [] : text.split(':').map((word) => Number.parseInt(word, 16));
}
