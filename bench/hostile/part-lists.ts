/** Hostile list servers: a good copy first, then whatever a server may do, all of them at once. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, runCase, type CaseResult, type Part, type Setting } from './case.ts';
import { HOSTILE, ListServer } from './list-server.ts';
import { Pulse } from './pulse.ts';
import { Subject } from './subject.ts';
import { addressOf, Closers, GOOD_ADDRESS, goodUpstream, ZONE } from './surroundings.ts';

const WATCH_MS = { full: 40_000, short: 6_000 };
const GAP_MAX_MS = 2_000;
const GROWTH_MAX_BYTES = 250 * 2 ** 20;

/** Answers every TLS greeting with noise. @returns its port */
async function noiseServer(closers: Closers): Promise<number> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.end(Buffer.alloc(4_000, 0x16));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closers.after(() => server.close());
  return (server.address() as AddressInfo).port;
}

async function attack(
  name: string,
  kinds: readonly string[],
  setting: Setting,
): Promise<CaseResult> {
  return runCase(name, setting, async (folder, tell) => {
    const closers = new Closers();
    const lists = await ListServer.open();
    closers.after(() => lists.close());
    const upstream = await goodUpstream(closers);
    const noise = await noiseServer(closers);
    const subject = await Subject.make(folder, {
      dns: { upstreams: [upstream] },
      rules: ['||always.example^'],
      lists: [
        ...kinds.map((kind) => ({ name: kind, url: lists.url(kind) })),
        { name: 'tls-noise', url: `https://127.0.0.1:${String(noise)}/list` },
      ],
    });
    const zone = { blocked: 'always.example', zone: ZONE, address: GOOD_ADDRESS };
    const pulse = await Pulse.start({ port: subject.dnsPort, ...zone });
    closers.after(() => pulse.stop());
    let peakBytes = 0;
    tell({
      questions: () => pulse.questions,
      figures: () => ({ kinds: kinds.length, peakMiB: Math.round(peakBytes / 2 ** 20) }),
    });
    try {
      await subject.start();
      closers.after(() => subject.kill());
      await subject.call('lists.refresh', {}, 60_000).catch(() => undefined);
      await allInUse(subject, kinds, 'before');
      pulse.up();
      const before = await subject.rssBytes();
      await lists.turnHostile();
      const refreshing = subject.call('lists.refresh', {}, 600_000).catch(() => undefined);
      const endsMs = performance.now() + WATCH_MS[setting.isShort ? 'short' : 'full'];
      const progress = { isOver: false };
      void refreshing.then(() => (progress.isOver = true));
      while (performance.now() < endsMs && !progress.isOver) {
        await wait(250);
        peakBytes = Math.max(peakBytes, await subject.rssBytes());
        expect(subject.isAlive(), `it ended: ${subject.lastWords}`);
      }
      await allInUse(subject, kinds, 'afterwards');
      pulse.down();
      const grown = peakBytes - before;
      expect(grown < GROWTH_MAX_BYTES, `memory grew by ${String(Math.round(grown / 2 ** 20))} MiB`);
      const { wrong, lost, worstGapMs } = pulse.questions;
      expect(
        wrong + lost === 0,
        `${String(wrong)} wrong (${pulse.firstWrong}), ${String(lost)} lost`,
      );
      expect((worstGapMs ?? 0) <= GAP_MAX_MS, `no answer for ${String(worstGapMs)} ms`);
    } finally {
      pulse.down();
      await closers.close();
    }
  });
}

/** Names of the good copy of every list are blocked. */
async function allInUse(subject: Subject, kinds: readonly string[], when: string): Promise<void> {
  for (const kind of kinds) {
    for (const name of [`${kind}-3.listed.example`, `${kind}-1999.listed.example`]) {
      const got = await addressOf(subject.dnsPort, name);
      expect(got === '0.0.0.0', `${when}: ${name} is not blocked, ${got}`);
    }
  }
}

export const LISTS_PART: Part = {
  name: 'hostile list servers',
  criterion:
    'The old copy of every list stays in use, every question is answered right, never later than 2 s, ' +
    'and memory grows by less than 250 MiB.',
  run: async (setting) => {
    const kinds = Object.keys(HOSTILE);
    if (setting.isShort) return [await attack('all at once', kinds, setting)];
    const results: CaseResult[] = [];
    for (const kind of kinds) results.push(await attack(kind, [kind], setting));
    results.push(await attack('all at once', kinds, setting));
    return results;
  },
};
