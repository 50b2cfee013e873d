/** Few handles: connection floods on both doors of a program that may open 64, or 1,024 of them. */
import { connect, type Socket } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { framed, question } from '../../test/support/dns-client.ts';
import { expect, runCase, type CaseResult, type Part, type Setting } from './case.ts';
import { Pulse } from './pulse.ts';
import { Subject } from './subject.ts';
import { addressOf, Closers, GOOD_ADDRESS, goodUpstream, ZONE } from './surroundings.ts';

/** Timers of the program come round within this time. */
const AFTER_MS = { full: 12_000, short: 3_000 };
const GAP_MAX_MS = 2_000;

type Flood = (subject: Subject, sockets: Socket[]) => Promise<void>;

function open(port: number, sockets: Socket[]): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;

const FLOODS: Readonly<Record<string, Flood>> = {
  'no flood': () => Promise.resolve(),
  '300 GETs of the window, broken off': async (subject, sockets) => {
    for (let count = 0; count < 300; count++) {
      const socket = open(subject.httpPort, sockets);
      socket.once('connect', () => {
        socket.write(get('/'));
        setTimeout(() => socket.resetAndDestroy(), count % 7);
      });
      if (count % 20 === 0) await wait(10);
    }
  },
  '40 connections with 100 requests each in one go': async (subject, sockets) => {
    for (let count = 0; count < 40; count++) {
      const socket = open(subject.httpPort, sockets);
      socket.once('connect', () => socket.write(get('/').repeat(100)));
      socket.pause();
    }
    await wait(1_000);
  },
  '600 idle DNS connections': async (subject, sockets) => {
    for (let count = 0; count < 600; count++) {
      open(subject.dnsPort, sockets);
      if (count % 50 === 0) await wait(10);
    }
  },
  '300 DNS connections that ask and never read': async (subject, sockets) => {
    const one = framed(question(`pipelined.${ZONE}`));
    for (let count = 0; count < 300; count++) {
      const socket = open(subject.dnsPort, sockets);
      socket.pause();
      socket.once('connect', () =>
        socket.write(Buffer.concat(Array.from({ length: 50 }, () => one))),
      );
      if (count % 50 === 0) await wait(10);
    }
  },
  '300 half-sent HTTP requests': async (subject, sockets) => {
    for (let count = 0; count < 300; count++) {
      const socket = open(subject.httpPort, sockets);
      socket.once('connect', () => socket.write('POST /api/status HTTP/1.1\r\nHost: 127.0'));
      if (count % 50 === 0) await wait(10);
    }
  },
};

async function flooded(
  limit: number,
  name: string,
  flood: Flood,
  setting: Setting,
): Promise<CaseResult> {
  return runCase(`${String(limit)} handles, ${name}`, setting, async (folder, tell) => {
    const closers = new Closers();
    const sockets: Socket[] = [];
    const upstream = await goodUpstream(closers);
    const subject = await Subject.make(folder, {
      dns: { upstreams: [upstream] },
      rules: ['||always.example^'],
      lists: [],
    });
    const zone = { blocked: 'always.example', zone: ZONE, address: GOOD_ADDRESS };
    const pulse = await Pulse.start({ port: subject.dnsPort, ...zone });
    tell({ questions: () => pulse.questions });
    try {
      await subject.start({ wrap: ['prlimit', `--nofile=${String(limit)}:${String(limit)}`] });
      pulse.up();
      await flood(subject, sockets);
      await wait(AFTER_MS[setting.isShort ? 'short' : 'full']);
      expect(subject.isAlive(), `it ended: ${subject.lastWords}`);
      const got = await addressOf(subject.dnsPort, 'always.example');
      expect(got === '0.0.0.0', `a blocked name got ${got} during the flood`);
      for (const socket of sockets) socket.destroy();
      await waitForHttp(subject);
      pulse.down();
      const { wrong, lost, worstGapMs } = pulse.questions;
      expect(
        wrong + lost === 0,
        `${String(wrong)} wrong (${pulse.firstWrong}), ${String(lost)} lost`,
      );
      expect((worstGapMs ?? 0) <= GAP_MAX_MS, `no answer for ${String(worstGapMs)} ms`);
    } finally {
      for (const socket of sockets) socket.destroy();
      pulse.down();
      await pulse.stop();
      await subject.kill();
      await closers.close();
    }
  });
}

/** The window answers again once the flood is over. */
async function waitForHttp(subject: Subject): Promise<void> {
  const endsMs = performance.now() + 15_000;
  let why = '';
  while (performance.now() < endsMs) {
    try {
      const url = `http://127.0.0.1:${String(subject.httpPort)}/health`;
      const { status } = await fetch(url, { signal: AbortSignal.timeout(2_000) });
      if (status === 200 || status === 503) return;
      why = `status ${String(status)}`;
    } catch (error) {
      why = error instanceof Error ? error.message : '';
    }
    await wait(200);
  }
  expect(false, `HTTP does not answer after the flood: ${why}`);
}

export const HANDLES_PART: Part = {
  name: 'few handles',
  criterion:
    'It starts, lives on, and answers every question right, never later than 2 s; HTTP answers again ' +
    'within 15 s after the flood.',
  run: async (setting) => {
    const results: CaseResult[] = [];
    const all = [64, 1_024].flatMap((limit) =>
      Object.entries(FLOODS).map(([name, flood]) => ({ limit, name, flood })),
    );
    const chosen = setting.isShort
      ? all.filter(({ limit, name }) => limit === 64 && /no flood|broken off|idle/.test(name))
      : all;
    for (const { limit, name, flood } of chosen)
      results.push(await flooded(limit, name, flood, setting));
    return results;
  },
};
