/**
 * Replies of servers that do not keep to the letter of the RFCs, as bytes: each a change to a reply
 * that is right. What becomes of them here and at two other forwarders is compared in
 * test/net/odd-replies.test.ts.
 */
import { a, POINTER, questionLength, replyTo, soa, u16, u32, wireName } from './dns-wire.ts';
import type { RecordOptions, ReplyOptions } from './dns-wire.ts';

/** Makes the bytes of one odd reply to a query. */
export type OddReply = (query: Uint8Array) => Uint8Array;

export interface OddCase {
  readonly title: string;
  /** What the client gets: response code or TC, and records of the three sections without OPT. */
  readonly gets: string;
  /** Questions over UDP and over TCP that it takes; "1" when it is not given. */
  readonly asks?: string;
  /** Type of the question. */
  readonly type?: 'A' | 'AAAA' | 'HTTPS';
  readonly udp: OddReply;
  /** Over TCP; as over UDP when it is not given. */
  readonly tcp?: OddReply;
}

const ADDRESS = a(300, 192, 0, 2, 7);
const OPT = { size: 1_232 };
const GOOD: ReplyOptions = { answers: [ADDRESS], edns: OPT };
const optRecord: RecordOptions = { name: [0], type: 'OPT', ttl: 0, recordClass: 1_232, data: [] };
const zeros = (count: number): number[] => new Array<number>(count).fill(0);

export const goodReply: OddReply = (query) => replyTo(query, GOOD);

const made =
  (options: ReplyOptions): OddReply =>
  (query) =>
    replyTo(query, options);
const changed =
  (options: ReplyOptions, change: (bytes: Uint8Array) => Uint8Array | undefined): OddReply =>
  (query) => {
    const bytes = replyTo(query, options);
    return change(bytes) ?? bytes;
  };
/** Adds to a counter of the header: 4 QD, 6 AN, 8 NS, 10 AR. */
const counted = (options: ReplyOptions, at: number, by: number): OddReply =>
  changed(options, (bytes) => {
    bytes[at + 1] = (bytes[at + 1] as number) + by;
    return undefined;
  });
const flagged = (options: ReplyOptions, at: 2 | 3, bits: number): OddReply =>
  changed(options, (bytes) => {
    bytes[at] = (bytes[at] as number) ^ bits;
    return undefined;
  });
const cut = (options: ReplyOptions, by: number): OddReply =>
  changed(options, (bytes) => bytes.subarray(0, bytes.length - by));
const followed = (options: ReplyOptions, ...extra: number[]): OddReply =>
  changed(options, (bytes) => Uint8Array.from([...bytes, ...extra]));
const bare =
  (rcode: number): OddReply =>
  (query) =>
    Uint8Array.from([...query.subarray(0, 2), 0x81, 0x80 | rcode, ...zeros(8)]);
const withAnswers = (...answers: RecordOptions[]): ReplyOptions => ({ answers, edns: OPT });
const data = (type: string, ...bytes: (number | readonly number[])[]): RecordOptions => ({
  type,
  ttl: 300,
  data: bytes.flat(),
});
const many = Array.from({ length: 150 }, (_, index) => a(300, 192, 0, 2, index));
const endOfQuestion = (query: Uint8Array): number => 12 + questionLength(query);
const ownName = (query: Uint8Array): number[] => [...query.subarray(12, endOfQuestion(query) - 4)];
const noQuestion: OddReply = (query) => {
  const bytes = replyTo(query, { answers: [{ ...ADDRESS, name: ownName(query) }], edns: OPT });
  const end = endOfQuestion(query);
  return Uint8Array.from([
    ...bytes.subarray(0, 4),
    0,
    0,
    ...bytes.subarray(6, 12),
    ...bytes.subarray(end),
  ]);
};

export const ODD_REPLIES: readonly OddCase[] = [
  { title: 'bytes behind the end', gets: 'NOERROR 1/0/0', udp: followed(GOOD, 1, 2, 3) },
  { title: 'ARCOUNT one too high', gets: 'NOERROR 1/0/0', udp: counted(GOOD, 10, 1) },
  {
    title: 'ARCOUNT one too high without OPT',
    gets: 'NOERROR 1/0/0',
    udp: counted({ answers: [ADDRESS] }, 10, 1),
  },
  { title: 'ARCOUNT 0 with an OPT', gets: 'NOERROR 1/0/0', udp: counted(GOOD, 10, -1) },
  {
    title: 'NSCOUNT one too high',
    gets: 'NOERROR 1/0/0',
    udp: counted({ answers: [ADDRESS] }, 8, 1),
  },
  {
    title: 'ANCOUNT one too high',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    udp: counted({ answers: [ADDRESS] }, 6, 1),
  },
  {
    title: 'ANCOUNT one too low',
    gets: 'NOERROR 1/0/0',
    udp: counted({ answers: [ADDRESS, a(300, 192, 0, 2, 8)] }, 6, -1),
  },
  {
    title: 'ANCOUNT one too low with OPT',
    gets: 'NOERROR 1/0/1',
    udp: counted({ ...GOOD, answers: [ADDRESS, a(300, 192, 0, 2, 8)] }, 6, -1),
  },
  {
    title: 'all counts 65,535',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    udp: changed(GOOD, (bytes) => {
      bytes.fill(255, 6, 12);
      return undefined;
    }),
  },
  { title: 'two OPTs', gets: 'NOERROR 1/0/0', udp: made({ ...GOOD, additionals: [optRecord] }) },
  {
    title: 'OPT among the answers',
    gets: 'NOERROR 1/0/0',
    udp: made({ answers: [ADDRESS, optRecord] }),
  },
  {
    title: 'OPT in the authority section',
    gets: 'NOERROR 1/0/0',
    udp: made({ answers: [ADDRESS], authorities: [optRecord] }),
  },
  {
    title: 'OPT that is not at the root',
    gets: 'NOERROR 1/0/0',
    udp: made({ answers: [ADDRESS], additionals: [{ ...optRecord, name: 'x' }] }),
  },
  {
    title: 'OPT whose option is cut',
    gets: 'NOERROR 1/0/0',
    udp: made({ ...GOOD, edns: { ...OPT, options: [0, 10, 0, 9, 7] } }),
  },
  {
    title: 'OPT of version 1',
    gets: 'NOERROR 1/0/0',
    udp: made({ ...GOOD, edns: { ...OPT, version: 1 } }),
  },
  {
    title: 'HTTPS with a compressed target',
    gets: 'NOERROR 2/0/0',
    type: 'HTTPS',
    udp: made(
      withAnswers(data('HTTPS', u16(0), POINTER), data('HTTPS', u16(0), [1, 0x73], POINTER)),
    ),
  },
  {
    title: 'HTTPS with a compressed target and parameters',
    gets: 'NOERROR 1/0/0',
    type: 'HTTPS',
    udp: made(
      withAnswers(data('HTTPS', u16(1), [1, 0x73], POINTER, u16(1), u16(3), [2, 0x68, 0x32])),
    ),
  },
  {
    title: 'HTTPS whose parameter is cut',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    type: 'HTTPS',
    udp: made(withAnswers(data('HTTPS', u16(1), [0], u16(4), u16(8), zeros(4)))),
  },
  {
    title: 'RRSIG with a compressed signer',
    gets: 'NOERROR 2/0/0',
    udp: made(withAnswers(ADDRESS, data('RRSIG', u16(1), zeros(16), POINTER, zeros(64)))),
  },
  {
    title: 'NSEC with a compressed next name',
    gets: 'NOERROR 0/2/0',
    asks: '2',
    udp: made({ authorities: [soa(60, 60), data('TYPE47', POINTER, [0, 1, 0x40])], edns: OPT }),
  },
  { title: 'no question, with an answer', gets: 'waits', udp: noQuestion },
  { title: 'header only, NOERROR', gets: 'waits', udp: bare(0) },
  { title: 'header only, FORMERR', gets: 'FORMERR 0/0/0', asks: '3', udp: bare(1) },
  { title: 'header only, SERVFAIL', gets: 'SERVFAIL 0/0/0', asks: '3', udp: bare(2) },
  { title: 'header only, NXDOMAIN', gets: 'waits', udp: bare(3) },
  { title: 'header only, REFUSED', gets: 'REFUSED 0/0/0', asks: '3', udp: bare(5) },
  { title: 'QDCOUNT 2', gets: 'waits', udp: counted(GOOD, 4, 1) },
  {
    title: 'QDCOUNT 2 with the question twice',
    gets: 'waits',
    udp: (query) => {
      const bytes = replyTo(query, GOOD);
      const end = endOfQuestion(query);
      return Uint8Array.from([
        ...bytes.subarray(0, 5),
        2,
        ...bytes.subarray(6, end),
        ...bytes.subarray(12, end),
        ...bytes.subarray(end),
      ]);
    },
  },
  { title: 'opcode STATUS', gets: 'waits', udp: flagged(GOOD, 2, 0x10) },
  {
    title: 'answer for another name',
    gets: 'NOERROR 0/0/0',
    udp: made(withAnswers({ ...ADDRESS, name: 'other.example' })),
  },
  {
    title: 'answer for this name and another',
    gets: 'NOERROR 1/0/0',
    udp: made(withAnswers({ ...ADDRESS, name: 'other.example' }, ADDRESS)),
  },
  {
    title: 'A of 16 bytes',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    udp: made(withAnswers(data('A', zeros(16)))),
  },
  {
    title: 'A of 16 bytes and one of 4',
    gets: 'NOERROR 1/0/0',
    udp: made(withAnswers(data('A', zeros(16)), ADDRESS)),
  },
  { title: 'A of 0 bytes', gets: 'SERVFAIL 0/0/0', asks: '1+1', udp: made(withAnswers(data('A'))) },
  {
    title: 'AAAA of 4 bytes',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    type: 'AAAA',
    udp: made(withAnswers(data('AAAA', [192, 0, 2, 7]))),
  },
  {
    title: 'A of class CH',
    gets: 'NOERROR 0/0/0',
    udp: made(withAnswers({ ...ADDRESS, recordClass: 3 })),
  },
  {
    title: 'A of class CH and of class IN',
    gets: 'NOERROR 1/0/0',
    udp: made(withAnswers({ ...ADDRESS, recordClass: 3 }, ADDRESS)),
  },
  {
    title: 'question of class CH',
    gets: 'waits',
    udp: changed(GOOD, (bytes) => {
      bytes[endOfQuestion(bytes) - 1] = 3;
      return undefined;
    }),
  },
  {
    title: 'owner that points forward',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    udp: made(withAnswers({ ...ADDRESS, name: [0xc0, 60] })),
  },
  {
    title: 'owner that points forward to a name',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    udp: (query) =>
      replyTo(query, {
        answers: [{ ...ADDRESS, name: u16(0xc000 + endOfQuestion(query) + 16) }],
        additionals: [{ ...ADDRESS, name: ownName(query) }],
      }),
  },
  {
    title: 'owner that points to itself',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    udp: made(withAnswers({ ...ADDRESS, name: [0xc0, 29] })),
  },
  {
    title: 'owner that points into the header',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    udp: made(withAnswers({ ...ADDRESS, name: [0xc0, 4] })),
  },
  {
    title: 'duplicate records',
    gets: 'NOERROR 3/0/0',
    udp: made(withAnswers(ADDRESS, ADDRESS, ADDRESS)),
  },
  {
    title: 'larger than the size advertised',
    gets: 'TC 0/0/0',
    udp: made(withAnswers(...many)),
  },
  { title: 'RA clear', gets: 'NOERROR 1/0/0', udp: flagged(GOOD, 3, 0x80) },
  { title: 'RD clear', gets: 'NOERROR 1/0/0', udp: flagged(GOOD, 2, 0x01) },
  { title: 'Z set', gets: 'NOERROR 1/0/0', udp: flagged(GOOD, 3, 0x40) },
  { title: 'AA set', gets: 'NOERROR 1/0/0', udp: flagged(GOOD, 2, 0x04) },
  {
    title: 'AA and TC, with an answer',
    gets: 'NOERROR 1/0/0',
    asks: '1+1',
    udp: flagged(GOOD, 2, 0x06),
    tcp: goodReply,
  },
  {
    title: 'TC with an answer, over TCP too',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    udp: flagged(GOOD, 2, 0x02),
  },
  {
    title: 'TC, cut inside a record',
    gets: 'NOERROR 1/0/0',
    asks: '1+1',
    udp: (query) => replyTo(query, { ...GOOD, tc: true }).subarray(0, -20),
    tcp: goodReply,
  },
  {
    title: 'answer cut, whole over TCP',
    gets: 'NOERROR 1/0/0',
    asks: '1+1',
    udp: cut({ answers: [ADDRESS] }, 2),
    tcp: goodReply,
  },
  {
    title: 'answer cut, over TCP too',
    gets: 'SERVFAIL 0/0/0',
    asks: '1+1',
    udp: cut({ answers: [ADDRESS] }, 2),
  },
  {
    title: 'authority cut',
    gets: 'NOERROR 1/0/0',
    udp: cut({ answers: [ADDRESS], authorities: [soa(60, 60)] }, 2),
  },
  {
    title: 'authority of NODATA cut',
    gets: 'NOERROR 0/0/0',
    asks: '2',
    udp: cut({ authorities: [soa(60, 60)] }, 2),
  },
  {
    title: 'additional cut',
    gets: 'NOERROR 1/0/0',
    udp: cut({ answers: [ADDRESS], additionals: [{ ...ADDRESS, name: 'x.example' }] }, 2),
  },
  {
    title: 'broken TXT among the additional records',
    gets: 'NOERROR 1/0/0',
    udp: made({ ...GOOD, additionals: [data('TXT', [200, 1])] }),
  },
  {
    title: 'CNAME and address, address first',
    gets: 'NOERROR 2/0/0',
    udp: made(
      withAnswers({ ...ADDRESS, name: 'to.example' }, data('CNAME', wireName('to.example'))),
    ),
  },
  {
    title: 'two CNAMEs of one name',
    gets: 'NOERROR 3/0/0',
    udp: made(
      withAnswers(data('CNAME', wireName('to.example')), data('CNAME', wireName('too.example')), {
        ...ADDRESS,
        name: 'to.example',
      }),
    ),
  },
  {
    title: 'NXDOMAIN with an address',
    gets: 'NXDOMAIN 1/0/0',
    asks: '2',
    udp: made({ ...GOOD, rcode: 3 }),
  },
  { title: 'NOERROR without anything', gets: 'NOERROR 0/0/0', asks: '2', udp: made({}) },
  {
    title: 'SERVFAIL with an address',
    gets: 'SERVFAIL 0/0/0',
    asks: '3',
    udp: made({ ...GOOD, rcode: 2 }),
  },
  { title: 'response code 6', gets: 'YXDOMAIN 0/0/0', asks: '2', udp: made({ rcode: 6 }) },
  { title: 'response code 11', gets: 'RCODE_11 0/0/0', asks: '2', udp: made({ rcode: 11 }) },
  {
    title: 'extended response code 16',
    gets: 'SERVFAIL 0/0/0',
    asks: '3',
    udp: made({ edns: { ...OPT, extendedRcode: 1 } }),
  },
  {
    title: 'TTL above 2^31',
    gets: 'NOERROR 1/0/0',
    udp: made(withAnswers({ ...ADDRESS, ttl: 0xf0000000 })),
  },
  {
    title: 'unknown type with a pointer in its data',
    gets: 'NOERROR 2/0/0',
    udp: made(withAnswers(ADDRESS, data('TYPE65280', u32(1), POINTER))),
  },
  { title: 'no bytes', gets: 'waits', udp: () => new Uint8Array(0), tcp: goodReply },
  { title: 'half a header', gets: 'waits', udp: (query) => query.subarray(0, 6), tcp: goodReply },
  { title: 'the query itself', gets: 'waits', udp: (query) => query, tcp: goodReply },
];
