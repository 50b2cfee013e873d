/**
 * Reads a host name in presentation form straight from the bytes of a list into wire labels.
 *
 * Every format and the user rules use it, so that what counts as a name is decided once. One object
 * is reused for all lines of a list; nothing is allocated but for names beyond ASCII.
 */
import { domainToASCII } from 'node:url';
import { LIMITS } from '../../contract/limits.ts';
import { hashName } from '../../dns/name.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

/** Wire labels without the root label. */
const WIRE_BYTES_MAX = LIMITS.nameBytesMax - 1;
/** U-labels as UTF-8 may be longer than the A-labels they become, but not without end. */
const INTERNATIONAL_BYTES_MAX = 1_024;
const DOT = 0x2e;

/** Lower-case form of each byte that a label may have; 0 for the others. */
const FOLDED = new Uint8Array(256);
for (const char of 'abcdefghijklmnopqrstuvwxyz0123456789-_') {
  FOLDED[char.charCodeAt(0)] = char.charCodeAt(0);
  FOLDED[char.toUpperCase().charCodeAt(0)] = char.charCodeAt(0);
}

export class HostName {
  /** Lower-case wire labels bytes[0, length), without root. */
  readonly bytes = new Uint8Array(256);
  length = 0;
  labelCount = 0;
  /** hashName of the labels. */
  hash = 0;
  readonly #text = Buffer.alloc(256);

  /**
   * Reads source[start, end), which has no blanks around it. One trailing dot is accepted.
   *
   * @returns  VERDICT.rule, or why this is no host name; whether a list may block it is not asked
   */
  read(source: Uint8Array, start: number, end: number): Verdict {
    const out = this.bytes;
    let lengthAt = 0;
    let at = 1;
    let labels = 1;
    const last = end > start + 1 && source[end - 1] === DOT ? end - 1 : end;
    for (let index = start; index < last; index++) {
      const byte = source[index] as number;
      const folded = FOLDED[byte] as number;
      if (folded === 0) {
        if (byte !== DOT) return this.#unusual(byte, source, start, end);
        if (!isLabelLength(at - lengthAt - 1)) return LINE_RESULT.labelLength;
        out[lengthAt] = at - lengthAt - 1;
        lengthAt = at;
        labels++;
      }
      if (at >= WIRE_BYTES_MAX) return LINE_RESULT.nameLength;
      out[at++] = folded;
    }
    if (!isLabelLength(at - lengthAt - 1)) return LINE_RESULT.labelLength;
    out[lengthAt] = at - lengthAt - 1;
    if (isNumber(out, lengthAt + 1, at)) return LINE_RESULT.address;
    this.length = at;
    this.labelCount = labels;
    this.hash = hashName(out, 0, at);
    return LINE_RESULT.rule;
  }

  /** Presentation form. Its bytes need no escapes. */
  get text(): string {
    const { bytes, length } = this;
    let border = 0;
    for (let at = 0; at < length; at++) {
      const byte = bytes[at] as number;
      this.#text[at] = at === border ? DOT : byte;
      if (at === border) border += byte + 1;
    }
    return this.#text.toString('latin1', 1, length);
  }

  /** A byte that no A-label has: converts U-labels, names the kind of everything else. */
  #unusual(byte: number, source: Uint8Array, start: number, end: number): Verdict {
    if (byte >= 0x80) return this.#readInternational(source, start, end);
    if (byte === 0x2a || byte === 0x5e || byte === 0x7c) return LINE_RESULT.pattern; // * ^ |
    if (byte === 0x2f) return LINE_RESULT.path; // /
    if (byte === 0x3a)
      return isAddress(source, start, end) ? LINE_RESULT.address : LINE_RESULT.path; // :
    return LINE_RESULT.characters;
  }

  #readInternational(source: Uint8Array, start: number, end: number): Verdict {
    if (end - start > INTERNATIONAL_BYTES_MAX) return LINE_RESULT.nameLength;
    let text: string;
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(source.slice(start, end));
    } catch {
      return LINE_RESULT.characters; // The caller counts it by this reason.
    }
    const ascii = domainToASCII(text);
    if (ascii === '' || !/^[a-z0-9._-]+$/i.test(ascii)) return LINE_RESULT.characters;
    return this.read(Buffer.from(ascii, 'latin1'), 0, ascii.length);
  }
}

/**
 * Whether source[start, end) is written like an IP address: digits and dots with three dots, or hex
 * digits with two colons or more (and perhaps %zone). Enough to tell it from a name.
 */
export function isAddress(source: Uint8Array, start: number, end: number): boolean {
  let dots = 0;
  let colons = 0;
  let letters = 0;
  for (let at = start; at < end; at++) {
    const byte = source[at] as number;
    if (byte === 0x25 && colons > 1) break; // %
    if (byte === DOT) dots++;
    else if (byte === 0x3a) colons++;
    else if (!isHexDigit(byte)) return false;
    else if (byte > 0x39) letters++;
  }
  return colons === 0 ? dots === 3 && letters === 0 : colons > 1;
}

function isHexDigit(byte: number): boolean {
  const folded = byte | 32;
  return (byte >= 0x30 && byte <= 0x39) || (folded >= 0x61 && folded <= 0x66);
}

function isLabelLength(length: number): boolean {
  return length > 0 && length <= LIMITS.labelBytesMax;
}

/** A last label of digits only: no top-level domain is one, so this is an address or a piece. */
function isNumber(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at] as number;
    if (byte < 0x30 || byte > 0x39) return false;
  }
  return true;
}
