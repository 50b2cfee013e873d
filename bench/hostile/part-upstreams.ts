/** Hostile and odd upstreams, alone where they can be used and beside a good one always. */
import { setTimeout as wait } from 'node:timers/promises';
import { drawer, expect, runCase, type CaseResult, type Part, type Setting } from './case.ts';
import { Subject } from './subject.ts';
import { addressOf, Closers, GOOD_ADDRESS, goodUpstream } from './surroundings.ts';
import {
  answerAddress,
  answerCode,
  byTransport,
  delayed,
  FakeUpstream,
  silent,
  truncatedAnswer,
  type Behaviour,
} from '../../test/support/fake-upstream.ts';

const PAGE_NAMES = 30;
const WAIT_MS = 8_000;
const TOGETHER = 3;

const good = answerAddress(GOOD_ADDRESS);
const goodBytes = (query: Parameters<Behaviour>[0]): Buffer =>
  good(query, null as never)[0]?.bytes ?? Buffer.alloc(0);
const noise = drawer(77);
const random = (length: number): Buffer => Buffer.from(Array.from({ length }, () => noise(256)));
/** The reply, changed. */
const changed =
  (change: (reply: Buffer) => Buffer): Behaviour =>
  (query) => [{ bytes: change(goodBytes(query)) }];
const isMixed = (name: string): boolean =>
  name !== name.toLowerCase() && name !== name.toUpperCase();
const whenMixed =
  (behaviour: Behaviour): Behaviour =>
  (query, upstream) =>
    (isMixed(query.name) ? behaviour : good)(query, upstream);
const withOpt =
  (behaviour: Behaviour): Behaviour =>
  (query, upstream) =>
    (query.hasOpt ? behaviour : good)(query, upstream);
const closing: Behaviour = (query) => [{ bytes: goodBytes(query), thenClose: true }];

interface Kind {
  readonly behaviour: Behaviour;
  /** It can be used alone. */
  readonly isUsable: boolean;
  readonly scheme?: 'tcp://';
  readonly hasTcp?: boolean;
  /** Of the names asked. */
  readonly domain?: string;
}

const OPT = Buffer.from([0, 0, 41, 4, 208, 0, 0, 0, 0, 0, 0]);

const KINDS: Readonly<Record<string, Kind>> = {
  silent: { behaviour: silent, isUsable: false },
  'silent for one name': {
    behaviour: (query, upstream) => (/lame/i.test(query.name) ? silent : good)(query, upstream),
    isUsable: true,
  },
  garbage: { behaviour: () => [{ bytes: random(60) }], isUsable: false },
  'truncated for ever': { behaviour: truncatedAnswer, isUsable: false },
  'truncated, TCP closed': { behaviour: truncatedAnswer, isUsable: false, hasTcp: false },
  SERVFAIL: { behaviour: answerCode(2), isUsable: false },
  REFUSED: { behaviour: answerCode(5), isUsable: false },
  'fifty wrong IDs first': {
    behaviour: (query) => [
      ...Array.from({ length: 50 }, (_, at) => {
        const bytes = Buffer.from(goodBytes(query));
        bytes.writeUInt16BE((query.id + at + 1) & 0xffff);
        return { bytes };
      }),
      { bytes: goodBytes(query), delayMs: 20 },
    ],
    isUsable: true,
  },
  'from another port first': {
    behaviour: (query) => [
      { bytes: goodBytes(query), fromElsewhere: true },
      { bytes: goodBytes(query), delayMs: 20 },
    ],
    isUsable: true,
  },
  'TCP that closes after each answer': { behaviour: closing, isUsable: true, scheme: 'tcp://' },
  'truncated, TCP closes after each answer': {
    behaviour: byTransport(truncatedAnswer, closing),
    isUsable: true,
  },
  'trailing bytes': {
    behaviour: changed((reply) => Buffer.concat([reply, Buffer.from([1, 2, 3, 4, 5])])),
    isUsable: true,
  },
  'two OPT records': {
    behaviour: changed((reply) => {
      const bytes = Buffer.concat([reply, OPT, OPT]);
      bytes.writeUInt16BE(reply.readUInt16BE(10) + 2, 10);
      return bytes;
    }),
    isUsable: true,
  },
  'ARCOUNT one too high': {
    behaviour: changed((reply) => {
      reply.writeUInt16BE(reply.readUInt16BE(10) + 1, 10);
      return reply;
    }),
    isUsable: true,
  },
  'mixed case is REFUSED': { behaviour: whenMixed(answerCode(5)), isUsable: true },
  'mixed case is NXDOMAIN': { behaviour: whenMixed(answerCode(3)), isUsable: true },
  'mixed case is SERVFAIL': { behaviour: whenMixed(answerCode(2)), isUsable: true },
  'mixed case is not answered': { behaviour: whenMixed(silent), isUsable: true },
  'lower case in reply': {
    behaviour: changed((reply) => {
      // The name of the question, up to its root label.
      for (let at = 12; reply[at] !== 0 && at < reply.length; at++) {
        const byte = reply[at] ?? 0;
        if (byte >= 0x41 && byte <= 0x5a) reply[at] = byte + 0x20;
      }
      return reply;
    }),
    isUsable: false,
  },
  'EDNS is not answered': { behaviour: withOpt(silent), isUsable: true },
  'EDNS is SERVFAIL': { behaviour: withOpt(answerCode(2)), isUsable: true },
  'EDNS is REFUSED': { behaviour: withOpt(answerCode(5)), isUsable: true },
  'EDNS is FORMERR': { behaviour: withOpt(answerCode(1)), isUsable: true },
  'slow, 2.4 s': { behaviour: delayed(2_400, good), isUsable: true },
};

async function ask(
  label: string,
  kind: Kind,
  isAlone: boolean,
  setting: Setting,
): Promise<CaseResult> {
  return runCase(
    `${label}, ${isAlone ? 'alone' : 'beside a good one'}`,
    setting,
    async (folder, tell) => {
      const closers = new Closers();
      let sent = 0;
      let answered = 0;
      let wrong = 0;
      let worstMs = 0;
      tell({
        questions: () => ({ sent, answered, wrong, worstGapMs: null }),
        figures: () => ({ slowestMs: Math.round(worstMs) }),
      });
      const hostile = await FakeUpstream.open(closers as never, kind.behaviour, {
        tcp: kind.hasTcp ?? true,
      });
      const upstreams = [`${kind.scheme ?? ''}${hostile.endpoint}`];
      if (!isAlone) upstreams.push(await goodUpstream(closers));
      const subject = await Subject.make(folder, { dns: { upstreams }, lists: [] });
      /** As a stub does, asks once more when an answer is missing or an error. */
      const resolve = async (name: string): Promise<void> => {
        sent++;
        const startMs = performance.now();
        let got = await addressOf(subject.dnsPort, name, WAIT_MS);
        if (got !== GOOD_ADDRESS) got = await addressOf(subject.dnsPort, name, WAIT_MS);
        worstMs = Math.max(worstMs, performance.now() - startMs);
        if (got !== 'silence') answered++;
        if (got === GOOD_ADDRESS) return;
        wrong++;
        throw new Error(`${name} got ${got} (${String(wrong)} so far)`);
      };
      try {
        await subject.start();
        closers.after(() => subject.kill());
        if (label === 'silent for one name') {
          const lame = ['lame.page.example', 'lame.page.example'];
          await Promise.all(lame.map((name) => addressOf(subject.dnsPort, name, 2_500)));
        }
        const page = (round: number): Promise<void>[] =>
          Array.from({ length: PAGE_NAMES }, (_, at) =>
            resolve(`n${String(at)}-${String(round)}.page.example`),
          );
        for (const round of setting.isShort ? [1] : [1, 2, 3]) {
          const ended = await Promise.allSettled(page(round));
          const failed = ended.filter((one) => one.status === 'rejected');
          const why = failed.map(({ reason }) => (reason as Error).message).slice(0, 2);
          expect(
            failed.length === 0,
            `${String(failed.length)} of ${String(PAGE_NAMES)}: ${why.join('; ')}`,
          );
          await wait(100);
        }
      } finally {
        await closers.close();
      }
    },
  );
}

export const UPSTREAMS_PART: Part = {
  name: 'hostile upstreams',
  criterion:
    'Each of the names of a page, asked at once, gets its address within one repetition of 8 s: from ' +
    'the odd server alone where it can be used, and always from two, one odd and one good.',
  run: async (setting) => {
    const jobs = Object.entries(KINDS).flatMap(([label, kind]) =>
      [...(kind.isUsable ? [true] : []), false].map((isAlone) => ({ label, kind, isAlone })),
    );
    const chosen = setting.isShort
      ? jobs.filter(({ label, isAlone }) =>
          isAlone ? /one name|trailing|is REFUSED/.test(label) : label === 'silent',
        )
      : jobs;
    const results: CaseResult[] = [];
    for (let at = 0; at < chosen.length; at += TOGETHER) {
      const group = chosen.slice(at, at + TOGETHER);
      const all = group.map(({ label, kind, isAlone }) => ask(label, kind, isAlone, setting));
      results.push(...(await Promise.all(all)));
    }
    return results;
  },
};
