/**
 * Odd replies (test/support/odd-replies.ts) through the whole path: what the client gets, how often
 * the server is asked for it (no more than that: nothing ran out of time), and that it is not blamed.
 * Then the same at two other
 * forwarders: what both of them answer, Sluice answers too.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkReply, REPLY_OK } from '../../main/dns/reply-check.ts';
import { exchangeUdp } from '../support/dns-client.ts';
import { header, question, readOpt } from '../support/dns-wire.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import type { Behaviour } from '../support/fake-upstream.ts';
import { Gateway } from '../support/gateway.ts';
import { goodReply, ODD_REPLIES } from '../support/odd-replies.ts';
import type { OddCase } from '../support/odd-replies.ts';
import { tempDir } from '../support/temp-dir.ts';
import { findTool, missingTools } from '../support/tools.ts';
import { freePort } from '../../bench/load/target.ts';

const RCODES = ['NOERROR', 'FORMERR', 'SERVFAIL', 'NXDOMAIN', 'NOTIMP', 'REFUSED', 'YXDOMAIN'];
/** Response code or TC, and records of a message, without OPT. */
function brief(message: Buffer): string {
  const { rcode, tc, counts } = header(message);
  const [, answers = 0, authorities = 0, additionals = 0] = counts;
  const others = additionals - (readOpt(message) === null ? 0 : 1);
  const name = tc ? 'TC' : (RCODES[rcode] ?? `RCODE_${String(rcode)}`);
  return `${name} ${String(answers)}/${String(authorities)}/${String(others)}`;
}

/** Sends the odd reply; what is not taken for one is followed by a good one. */
function behaving({ udp, tcp = udp, gets }: OddCase): Behaviour {
  return (query) => {
    const bytes = Buffer.from((query.transport === 'tcp' ? tcp : udp)(query.bytes));
    const odd = { bytes };
    if (gets !== 'waits') return [odd];
    return [odd, { bytes: Buffer.from(goodReply(query.bytes)), delayMs: 20 }];
  };
}

for (const odd of ODD_REPLIES) {
  test(`${odd.title}: ${odd.gets}`, async (t) => {
    const gateway = await Gateway.open(t, behaving(odd));
    const query = question('odd.example', odd.type ?? 'A', { edns: { size: 4_096 } });
    const answer = await gateway.send(query);
    assert.equal(brief(answer), odd.gets === 'waits' ? 'NOERROR 1/0/0' : odd.gets);
    assert.equal(checkReply(answer, answer.length, query, query.length), REPLY_OK, 'well-formed');
    const over = (transport: string): number =>
      gateway.upstream.queries.filter((one) => one.transport === transport).length;
    const [udp, tcp] = (odd.asks ?? '1').split('+');
    assert.deepEqual([over('udp'), over('tcp')], [Number(udp), Number(tcp ?? 0)], 'asked');
    const [state] = gateway.pool.states;
    assert.deepEqual([state?.state, state?.failures, state?.askedWithout], ['up', 0, '']);
    // The server is asked the next question as before, and answers it.
    gateway.upstream.behave((next) => [{ bytes: Buffer.from(goodReply(next.bytes)) }]);
    const next = await gateway.ask('next.example');
    assert.equal(brief(next), 'NOERROR 1/0/0');
  });
}

/** Both of them relay records of a wrong size, or follow pointers forward: no answer to a client. */
const NOT_FOLLOWED = new Set([
  'A of 16 bytes',
  'A of 0 bytes',
  'HTTPS whose parameter is cut',
  'owner that points forward to a name',
  'owner that points to itself',
  'owner that points into the header',
]);

/** Starts a forwarder to the fake server; resolves when it answers. */
async function startPeer(
  t: Parameters<typeof FakeUpstream.open>[0],
  tool: 'dnsmasq' | 'unbound',
  upstreamPort: number,
): Promise<number> {
  const port = await freePort();
  const folder = await tempDir(t);
  const file = join(folder, 'unbound.conf');
  if (tool === 'unbound') await writeFile(file, unboundConfig(folder, port, upstreamPort));
  const args =
    tool === 'unbound'
      ? ['-d', '-c', file]
      : [
          ...['-k', '--conf-file=/dev/null', '--no-resolv', '--no-hosts', '--cache-size=0'],
          ...['--listen-address=127.0.0.1', '--bind-interfaces', `--port=${String(port)}`],
          ...[`--server=127.0.0.1#${String(upstreamPort)}`, `--pid-file=${folder}/pid`, '--user='],
        ];
  const child = spawn(findTool(tool) ?? tool, args, { stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  for (let tries = 0; tries < 100; tries++) {
    const ready = await exchangeUdp(`127.0.0.1:${String(port)}`, question('up.example', 'A'), 100)
      .then(() => true)
      .catch(() => new Promise<boolean>((done) => setTimeout(done, 50, false)));
    if (ready) return port;
  }
  throw new Error(`${tool} does not answer`);
}

function unboundConfig(folder: string, port: number, upstreamPort: number): string {
  return `server:
  interface: 127.0.0.1
  port: ${String(port)}
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  do-not-query-localhost: no
  module-config: "iterator"
  qname-minimisation: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@${String(upstreamPort)}
remote-control:
  control-enable: no
`;
}

test(
  'what dnsmasq and unbound both answer, Sluice answers',
  { skip: missingTools('dnsmasq', 'unbound') },
  async (t) => {
    let current: Behaviour = (query) => [{ bytes: Buffer.from(goodReply(query.bytes)) }];
    const fake = await FakeUpstream.open(t, (query, upstream) => current(query, upstream));
    const ports = [
      await startPeer(t, 'dnsmasq', fake.port),
      await startPeer(t, 'unbound', fake.port),
    ];
    for (const [index, odd] of ODD_REPLIES.entries()) {
      if (odd.gets === 'waits' || odd.title.startsWith('header only')) continue;
      current = behaving(odd);
      const name = `o${String(index)}.example`;
      const query = question(name, odd.type ?? 'A', { id: index, edns: { size: 4_096 } });
      const codes = await Promise.all(
        ports.map(async (port) => {
          const answer = await exchangeUdp(`127.0.0.1:${String(port)}`, query, 3_000);
          return header(answer).tc ? 'TC' : (RCODES[header(answer).rcode] ?? '');
        }),
      );
      const ours = odd.gets.split(' ')[0] ?? '';
      const isAnswered = codes.every((code) => code === 'NOERROR');
      const note = `${odd.title}: dnsmasq and unbound say ${codes.join(' and ')}, Sluice ${ours}`;
      if (isAnswered && !NOT_FOLLOWED.has(odd.title) && !odd.title.startsWith('extended')) {
        assert.equal(ours, 'NOERROR', note);
      } else {
        t.diagnostic(note);
      }
    }
  },
);
