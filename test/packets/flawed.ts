/**
 * Client packets with one named flaw each, and what becomes of them. `node test/packets/write.ts`
 * writes each as <name>.bin beside this file; a test holds the files and this table together.
 */
import { optRecord, question, u16, u32, wireName } from '../support/dns-wire.ts';

export interface FlawedPacket {
  readonly name: string;
  readonly bytes: Uint8Array;
  readonly expect: 'silence' | 'formerr' | 'notimp' | 'refused' | 'badvers';
}

const good = question('www.example.com', 'A');

function bytes(...parts: (readonly number[] | Uint8Array)[]): Uint8Array {
  return Uint8Array.from(parts.flatMap((part) => [...part]));
}

function patched(packet: Uint8Array, at: number, ...values: number[]): Uint8Array {
  const copy = packet.slice();
  copy.set(values, at);
  return copy;
}

/** Header for one question and `additional` records, then anything. */
function raw(name: readonly number[], rest: readonly number[], additional = 0): Uint8Array {
  return bytes([0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, additional], name, rest);
}

const IN_A = [0, 1, 0, 1];
const label = (size: number): number[] => [size, ...new Array<number>(size).fill(0x61)];
/** A name of exactly 255 bytes on the wire, root included, and one of 256. */
const name255 = [...label(63), ...label(63), ...label(63), ...label(61), 0];
const name256 = [...label(63), ...label(63), ...label(63), ...label(62), 0];
const manyLabels = (count: number): number[] => [
  ...Array.from({ length: count }, () => [1, 0x61]).flat(),
  0,
];
const opt = optRecord({});
const record = (owner: readonly number[], type: number, data: readonly number[]): number[] => [
  ...owner,
  ...u16(type),
  ...u16(1),
  ...u32(0),
  ...u16(data.length),
  ...data,
];

function opcode(code: number): Uint8Array {
  return question('www.example.com', 'SOA', { opcode: code });
}

const TABLE: readonly (readonly [string, FlawedPacket['expect'], Uint8Array])[] = [
  ['empty', 'silence', bytes()],
  ['one-byte', 'silence', bytes([0x12])],
  ['eleven-bytes', 'silence', good.slice(0, 11)],
  ['response-bit', 'silence', patched(good, 2, 0x81)],
  ['response-bit-short', 'silence', patched(good, 2, 0x80).slice(0, 12)],
  ['response-with-bad-opcode', 'silence', patched(good, 2, 0xa9)],
  ['header-only', 'formerr', good.slice(0, 12)],
  ['no-question', 'formerr', patched(good.slice(0, 12), 4, 0, 0)],
  [
    'no-question-but-opt',
    'formerr',
    bytes(patched(good.slice(0, 12), 4, 0, 0, 0, 0, 0, 0, 0, 1), opt),
  ],
  ['two-questions', 'formerr', bytes(patched(good, 4, 0, 2), good.slice(12))],
  ['question-count-65535', 'formerr', patched(good, 4, 255, 255)],
  ['question-cut-in-label', 'formerr', good.slice(0, 18)],
  ['question-cut-before-root', 'formerr', good.slice(0, 28)],
  ['question-cut-before-type', 'formerr', good.slice(0, 29)],
  ['question-cut-in-class', 'formerr', good.slice(0, good.length - 1)],
  ['trailing-byte', 'formerr', bytes(good, [0])],
  ['trailing-kilobyte', 'formerr', bytes(good, new Array<number>(1_024).fill(0xff))],
  ['name-pointer-to-itself', 'formerr', raw([0xc0, 12], IN_A)],
  ['name-pointer-forward', 'formerr', raw([0xc0, 40], [...IN_A, ...wireName('a.example')])],
  ['name-pointer-into-header', 'formerr', raw([0xc0, 0], IN_A)],
  ['name-pointer-after-label', 'formerr', raw([1, 0x61, 0xc0, 12], IN_A)],
  ['name-pointer-loop', 'formerr', raw([0xc0, 14, 0xc0, 12], IN_A)],
  ['label-type-01', 'formerr', raw([0x41, ...new Array<number>(65).fill(0x61), 0], IN_A)],
  ['label-type-10', 'formerr', raw([0x80, ...new Array<number>(128).fill(0x61), 0], IN_A)],
  ['label-of-64', 'formerr', raw([64, ...new Array<number>(64).fill(0x61), 0], IN_A)],
  ['label-beyond-end', 'formerr', raw([63, 0x61, 0x62], [])],
  ['name-of-256', 'formerr', raw(name256, IN_A)],
  ['name-of-128-labels', 'formerr', raw(manyLabels(128), IN_A)],
  ['name-unending', 'formerr', raw(manyLabels(1_500).slice(0, -1), [])],
  ['answer-count-one', 'formerr', patched(good, 6, 0, 1)],
  [
    'answer-in-query',
    'formerr',
    bytes(patched(good, 6, 0, 1), record([0xc0, 12], 1, [1, 2, 3, 4])),
  ],
  ['authority-in-query', 'formerr', bytes(patched(good, 8, 0, 1), record([0xc0, 12], 2, [0]))],
  ['additional-count-without-record', 'formerr', patched(good, 10, 0, 1)],
  ['additional-count-65535', 'formerr', patched(good, 10, 255, 255)],
  ['two-opts', 'formerr', raw(wireName('www.example.com'), [...IN_A, ...opt, ...opt], 2)],
  ['opt-cut', 'formerr', raw(wireName('www.example.com'), [...IN_A, ...opt.slice(0, 9)], 1)],
  [
    'opt-length-beyond-end',
    'formerr',
    raw(wireName('a.example'), [...IN_A, ...opt.slice(0, 10), 9], 1),
  ],
  [
    'opt-option-too-long',
    'formerr',
    question('a.example', 'A', { edns: { options: [0, 10, 0, 9, 1] } }),
  ],
  [
    'opt-option-header-cut',
    'formerr',
    question('a.example', 'A', { edns: { options: [0, 10, 0] } }),
  ],
  ['opt-not-at-root', 'formerr', raw(wireName('a.example'), [...IN_A, 1, 0x61, ...opt], 1)],
  [
    'opt-by-pointer-to-root',
    'formerr',
    raw(wireName('a.'), [...IN_A, 0xc0, 14, ...opt.slice(1)], 1),
  ],
  ['opt-then-garbage', 'formerr', bytes(question('a.example', 'A', { edns: {} }), [1, 2, 3])],
  ['additional-name-unending', 'formerr', raw(wireName('a.example'), [...IN_A, 9, 0x61], 1)],
  ['type-opt', 'formerr', question('a.example', 'OPT')],
  ['edns-version-1', 'badvers', question('a.example', 'A', { edns: { version: 1 } })],
  [
    'edns-version-255-unknown-option',
    'badvers',
    question('a.example', 'A', { edns: { version: 255, options: [255, 1, 0, 1, 7] } }),
  ],
  ['opcode-iquery', 'notimp', opcode(1)],
  ['opcode-status', 'notimp', opcode(2)],
  ['opcode-notify', 'notimp', opcode(4)],
  ['opcode-update', 'notimp', opcode(5)],
  ['opcode-dso', 'notimp', patched(opcode(6).slice(0, 12), 4, 0, 0)],
  ['opcode-15-with-garbage', 'notimp', bytes(opcode(15).slice(0, 14), [0xff, 0xff])],
  ['class-any', 'notimp', question('a.example', 'A', { qclass: 255 })],
  ['class-none', 'notimp', question('a.example', 'A', { qclass: 254 })],
  ['class-chaos-version', 'refused', question('version.bind', 'TXT', { qclass: 3 })],
  ['transfer-axfr', 'refused', question('example.com', 'AXFR')],
  ['transfer-ixfr', 'refused', question('example.com', 'IXFR')],
];

export const FLAWED_PACKETS: readonly FlawedPacket[] = TABLE.map(([name, expect, packet]) => ({
  name,
  expect,
  bytes: packet,
}));

/** Odd packets that are nevertheless right. */
export const ODD_BUT_GOOD: readonly { name: string; bytes: Uint8Array }[] = [
  { name: 'name-of-255', bytes: raw(name255, IN_A) },
  { name: 'name-of-127-labels', bytes: raw(manyLabels(127), IN_A) },
  { name: 'label-of-63', bytes: raw([...label(63), 0], IN_A) },
  { name: 'label-with-dot-and-zero', bytes: raw([3, 0x2e, 0, 0xff, 0], IN_A) },
  {
    name: 'unknown-option',
    bytes: question('a.example', 'A', { edns: { options: [255, 1, 0, 0] } }),
  },
  {
    name: 'additional-tsig-like',
    bytes: raw(wireName('a.example'), [...IN_A, ...record([0], 250, [1, 2])], 1),
  },
];
