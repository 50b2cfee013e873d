/**
 * Turns the address text that node:dgram and node:net report into 16 bytes, without allocating for
 * clients seen lately. Used by the listeners.
 *
 * A direct-mapped table of the last texts: the slot follows from the text's last characters, the
 * stored text is compared whole. A miss parses into the slot's own bytes.
 */

const SLOTS = 256;
/** Characters of an address. */
const DIGIT_ZERO = 48;
const LETTER_A = 97;
const COLON = 0x3a;
const DOT = 0x2e;

/** Bytes of the last clients' addresses. Not shared between threads. */
export class ClientAddresses {
  readonly #texts: string[] = new Array<string>(SLOTS).fill('');
  readonly #bytes: Uint8Array[] = [];

  constructor() {
    for (let slot = 0; slot < SLOTS; slot++) this.#bytes.push(new Uint8Array(16));
  }

  /**
   * @param text  an IPv4 or IPv6 address as the runtime prints it; a zone (%eth0) is left out
   * @returns     16 bytes, IPv4 as ::ffff:a.b.c.d; valid until the next call
   */
  bytesOf(text: string): Uint8Array {
    const length = text.length;
    const slot =
      (text.charCodeAt(length - 1) * 31 + text.charCodeAt(length - 2) * 7 + length) & (SLOTS - 1);
    const bytes = this.#bytes[slot] as Uint8Array;
    if (this.#texts[slot] !== text) {
      parseAddress(text, bytes);
      this.#texts[slot] = text;
    }
    return bytes;
  }
}

/**
 * Parses an address that is known to be valid.
 *
 * @param out  gets 16 bytes; IPv4, also when mapped, as ::ffff:a.b.c.d
 */
export function parseAddress(text: string, out: Uint8Array): void {
  out.fill(0);
  const zone = text.indexOf('%');
  const end = zone < 0 ? text.length : zone;
  if (text.indexOf(':') < 0) {
    out[10] = 0xff;
    out[11] = 0xff;
    parseDotted(text, 0, end, out, 12);
    return;
  }
  parseGroups(text, end, out);
}

/** a.b.c.d at text[from, end) into out[at, at + 4). */
function parseDotted(text: string, from: number, end: number, out: Uint8Array, at: number): void {
  let value = 0;
  let place = at;
  for (let index = from; index < end; index++) {
    const code = text.charCodeAt(index);
    if (code === DOT) {
      out[place++] = value;
      value = 0;
    } else {
      value = value * 10 + code - DIGIT_ZERO;
    }
  }
  out[place] = value;
}

/** RFC 4291 §2.2: groups of hexadecimal digits, one "::", perhaps a dotted end. */
function parseGroups(text: string, end: number, out: Uint8Array): void {
  let at = 0;
  let gapAt = -1;
  // Of a "::" at the beginning the first colon ends no group.
  let index = text.charCodeAt(0) === COLON ? 1 : 0;
  while (index < end && at < 16) {
    if (text.charCodeAt(index) === COLON) {
      gapAt = at;
      index++;
      continue;
    }
    let value = 0;
    let stop = index;
    while (stop < end && isHexDigit(text.charCodeAt(stop))) {
      value = (value << 4) | hexDigit(text.charCodeAt(stop++));
    }
    if (text.charCodeAt(stop) === DOT) {
      parseDotted(text, index, end, out, at);
      at += 4;
      break;
    }
    at = writeGroup(out, at, value);
    index = stop + 1;
  }
  if (gapAt >= 0) moveBehindGap(out, gapAt, at);
}

function writeGroup(out: Uint8Array, at: number, value: number): number {
  out[at] = value >>> 8;
  out[at + 1] = value & 0xff;
  return at + 2;
}

/** Groups written after "::" go to the end, zeros take their place. */
function moveBehindGap(out: Uint8Array, gapAt: number, at: number): void {
  const moved = at - gapAt;
  out.copyWithin(16 - moved, gapAt, at);
  out.fill(0, gapAt, 16 - moved);
}

function isHexDigit(code: number): boolean {
  return code !== COLON && code !== DOT;
}

function hexDigit(code: number): number {
  if (code < 58) return code - DIGIT_ZERO;
  return (code | 0x20) - LETTER_A + 10;
}
