/**
 * Builds and reads DNS messages for tests, byte by byte and independently of the engine's own code.
 * dns-packet reads answers where its types suffice.
 */
import packet, { type DecodedPacket } from 'dns-packet';

const TYPE_NUMBERS: Readonly<Record<string, number>> = {
  A: 1,
  NS: 2,
  CNAME: 5,
  SOA: 6,
  PTR: 12,
  HINFO: 13,
  MX: 15,
  TXT: 16,
  AAAA: 28,
  SRV: 33,
  OPT: 41,
  DS: 43,
  RRSIG: 46,
  HTTPS: 65,
  TKEY: 249,
  IXFR: 251,
  AXFR: 252,
  ANY: 255,
};

export function typeOf(text: string): number {
  const number = TYPE_NUMBERS[text] ?? Number(text.replace(/^TYPE/, ''));
  if (!Number.isInteger(number)) throw new Error(`unknown type ${text}`);
  return number;
}

export interface QuestionOptions {
  id?: number;
  rd?: boolean;
  cd?: boolean;
  ad?: boolean;
  opcode?: number;
  qclass?: number;
  /** Absent: no OPT record. */
  edns?: { size?: number; dnssecOk?: boolean; version?: number; options?: readonly number[] };
}

export const u16 = (value: number): number[] => [(value >>> 8) & 0xff, value & 0xff];
export const u32 = (value: number): number[] => [...u16(value >>> 16), ...u16(value & 0xffff)];

/** Wire form of a name, letter case kept, root label included. No escapes. */
export function wireName(name: string): number[] {
  const labels = name === '.' || name === '' ? [] : name.replace(/\.$/, '').split('.');
  return [...labels.flatMap((label) => [label.length, ...Buffer.from(label, 'latin1')]), 0];
}

export function optRecord(edns: NonNullable<QuestionOptions['edns']>): number[] {
  const { size = 1_232, dnssecOk = false, version = 0, options = [] } = edns;
  const flags = u16(dnssecOk ? 0x8000 : 0);
  return [0, ...u16(41), ...u16(size), 0, version, ...flags, ...u16(options.length), ...options];
}

/** A query message. */
export function question(name: string, type: string, options: QuestionOptions = {}): Uint8Array {
  const { id = 0x1234, rd = true, cd = false, ad = false, opcode = 0, qclass = 1, edns } = options;
  return Uint8Array.from([
    ...u16(id),
    (opcode << 3) | (rd ? 1 : 0),
    (ad ? 0x20 : 0) | (cd ? 0x10 : 0),
    ...[0, 1, 0, 0, 0, 0, 0, edns ? 1 : 0],
    ...wireName(name),
    ...u16(typeOf(type)),
    ...u16(qclass),
    ...(edns ? optRecord(edns) : []),
  ]);
}

/** A record; the owner defaults to a pointer to the question. */
export interface RecordOptions {
  name?: string | readonly number[];
  type: string;
  ttl: number;
  data: readonly number[];
  recordClass?: number;
}

export const POINTER: readonly number[] = [0xc0, 12];

function wireRecord({ name = POINTER, type, ttl, data, recordClass = 1 }: RecordOptions): number[] {
  const owner = typeof name === 'string' ? wireName(name) : name;
  const fixed = [...u16(typeOf(type)), ...u16(recordClass), ...u32(ttl), ...u16(data.length)];
  return [...owner, ...fixed, ...data];
}

export interface ReplyOptions {
  answers?: readonly RecordOptions[];
  authorities?: readonly RecordOptions[];
  additionals?: readonly RecordOptions[];
  rcode?: number;
  ad?: boolean;
  tc?: boolean;
  /** OPT of the upstream, put first among the additional records; absent: none. */
  edns?: QuestionOptions['edns'] & { extendedRcode?: number };
  /** Additional records stand before OPT instead of behind it. */
  optLast?: boolean;
}

/** Length of a question section that begins behind the header. */
export function questionLength(message: Uint8Array): number {
  let at = 12;
  while ((message[at] as number) !== 0) at += (message[at] as number) + 1;
  return at + 5 - 12;
}

/** Replies to a query, its question copied. */
export function replyTo(query: Uint8Array, options: ReplyOptions = {}): Uint8Array {
  const { answers = [], authorities = [], additionals = [], rcode = 0, edns } = options;
  const opt = edns ? optRecord(edns) : [];
  if (edns?.extendedRcode !== undefined) opt[5] = edns.extendedRcode;
  const extra = additionals.flatMap(wireRecord);
  return Uint8Array.from([
    ...query.subarray(0, 2),
    0x81 | (options.tc === true ? 2 : 0),
    0x80 | (options.ad === true ? 0x20 : 0) | rcode,
    ...u16(1),
    ...u16(answers.length),
    ...u16(authorities.length),
    ...u16(additionals.length + (edns ? 1 : 0)),
    ...query.subarray(12, 12 + questionLength(query)),
    ...answers.flatMap(wireRecord),
    ...authorities.flatMap(wireRecord),
    ...(options.optLast === true ? [...extra, ...opt] : [...opt, ...extra]),
  ]);
}

/** An A record of the question name. */
export function a(ttl: number, ...address: number[]): RecordOptions {
  return { type: 'A', ttl, data: address.length === 4 ? address : [192, 0, 2, 1] };
}

export function soa(
  ttl: number,
  minimum: number,
  name: RecordOptions['name'] = POINTER,
): RecordOptions {
  const data = [...wireName('ns.example'), ...wireName('admin.example'), ...u32(1), ...u32(2)];
  return { name, type: 'SOA', ttl, data: [...data, ...u32(3), ...u32(4), ...u32(minimum)] };
}

/** Header bits and counts. */
export function header(message: Uint8Array): {
  id: number;
  qr: boolean;
  opcode: number;
  aa: boolean;
  tc: boolean;
  rd: boolean;
  ra: boolean;
  z: boolean;
  ad: boolean;
  cd: boolean;
  rcode: number;
  counts: number[];
} {
  const at = (index: number): number => message[index] ?? 0;
  const high = at(2);
  const low = at(3);
  return {
    id: (at(0) << 8) | at(1),
    qr: (high & 0x80) !== 0,
    opcode: (high >> 3) & 15,
    aa: (high & 4) !== 0,
    tc: (high & 2) !== 0,
    rd: (high & 1) !== 0,
    ra: (low & 0x80) !== 0,
    z: (low & 0x40) !== 0,
    ad: (low & 0x20) !== 0,
    cd: (low & 0x10) !== 0,
    rcode: low & 15,
    counts: [4, 6, 8, 10].map((index) => (at(index) << 8) | at(index + 1)),
  };
}

/** What an OPT record at the end of an answer says; null without one. */
export interface ReadOpt {
  size: number;
  extendedRcode: number;
  version: number;
  dnssecOk: boolean;
  /** Extended error code, or null. */
  ede: number | null;
}

export function readOpt(message: Uint8Array): ReadOpt | null {
  if (header(message).counts[3] === 0) return null;
  // The engine puts OPT last, alone or with the six bytes of an extended error.
  for (const optionBytes of [0, 6]) {
    const opt = message.subarray(message.length - 11 - optionBytes);
    const at = (index: number): number => opt[index] ?? -1;
    const isOpt = at(0) === 0 && at(1) === 0 && at(2) === 41 && at(10) === optionBytes;
    if (!isOpt) continue;
    return {
      size: (at(3) << 8) | at(4),
      extendedRcode: at(5),
      version: at(6),
      dnssecOk: at(7) === 0x80,
      ede: optionBytes === 6 && at(12) === 15 ? (at(15) << 8) | at(16) : null,
    };
  }
  return null;
}

export function decode(message: Uint8Array): DecodedPacket {
  return packet.decode(Buffer.from(message));
}

/** "name type ttl data" of each record of a section, in brief. */
export function records(message: Uint8Array, section: 'answers' | 'authorities'): string[] {
  return (decode(message)[section] ?? []).map((record) => {
    if (record.type === 'OPT') return 'OPT';
    const data = 'data' in record ? record.data : '';
    const ttl = 'ttl' in record ? String(record.ttl) : '';
    const shown = typeof data === 'string' ? data : JSON.stringify(data);
    return `${record.name} ${record.type} ${ttl} ${shown}`;
  });
}
