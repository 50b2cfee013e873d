/**
 * The whole program, with the takeover off, in a network that changes: the system's servers, the
 * networks of its clients, and what health says of those that it does not answer.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compose, type Program } from '../../main/app/program.ts';
import type { Status } from '../../main/contract/methods/methods.ts';
import { askUdp } from '../support/dns-client.ts';
import { a } from '../support/dns-wire.ts';
import { FakeUpstream } from '../support/fake-upstream.ts';
import { replying } from '../support/gateway.ts';
import { addLinks, addressesIn, askFrom, ip, makeFolder, scenario, t, until } from './inside.ts';

const OWN = '127.0.0.1:5300';

async function start(dns: object): Promise<Program> {
  const folder = makeFolder();
  const file = join(folder, 'sluice.yaml');
  const settings = { dns: { bootstrap: ['system'], ...dns }, http: { listen: '127.0.0.1:0' } };
  writeFileSync(file, JSON.stringify({ ...settings, lists: [] }));
  const program = await compose({ dataDirectory: join(folder, 'data'), configFile: file });
  t.after(() => program.close());
  return program;
}

/** A server on port 53 of an address, which answers every name with that address's last part. */
async function serverAt(last: number): Promise<FakeUpstream> {
  const address = `192.168.9.${String(last)}`;
  ip('address', 'add', `${address}/32`, 'dev', 'lo');
  const behaviour = replying({ answers: [a(300, 192, 0, 2, last)] });
  return FakeUpstream.open(t, behaviour, { address, port: 53 });
}

async function isAnsweredBy(last: number, name: string): Promise<void> {
  const answer = await askUdp(OWN, name, 'A', { timeoutMs: 500 });
  assert.deepEqual(addressesIn(answer), [`192.0.2.${String(last)}`], name);
}

/** /etc/resolv.conf in each of the ways in which it is changed. */
async function servers(): Promise<void> {
  execFileSync('mount', ['-t', 'tmpfs', 'none', '/etc']);
  const write = (file: string, last: number): void => {
    writeFileSync(file, `nameserver 127.0.0.1\nnameserver 192.168.9.${String(last)}\n`);
  };
  write('/etc/resolv.conf', 1);
  const all = await Promise.all([1, 2, 3, 4, 5].map(serverAt));
  // Our own address is in the file, too, on the port that we listen on.
  const program = await start({ listen: [OWN, '127.0.0.1:53'], upstreams: ['system'] });
  const name = 'same.example';
  await isAnsweredBy(1, name);
  const changes: (() => void)[] = [
    () => {
      write('/etc/resolv.conf', 2);
    },
    () => {
      write('/etc/new', 3);
      renameSync('/etc/new', '/etc/resolv.conf');
    },
    () => {
      mkdirSync('/etc/first');
      write('/etc/first/resolv.conf', 4);
      rmSync('/etc/resolv.conf');
      symlinkSync('first/resolv.conf', '/etc/resolv.conf');
    },
    () => {
      write('/etc/first/resolv.conf', 5);
    },
    () => {
      mkdirSync('/etc/second');
      write('/etc/second/resolv.conf', 1);
      symlinkSync('second/resolv.conf', '/etc/next');
      renameSync('/etc/next', '/etc/resolv.conf');
    },
  ];
  for (const [index, change] of changes.entries()) {
    change();
    await until(() => isAnsweredBy(index === 4 ? 1 : index + 2, name));
  }
  // An empty file names nobody: the servers of before go on.
  writeFileSync('/etc/second/resolv.conf', '');
  await program.service.reload();
  await isAnsweredBy(1, 'other.example');
  // And a reload does not wait for the next look.
  write('/etc/second/resolv.conf', 2);
  await program.service.reload();
  await isAnsweredBy(2, name);
  assert.deepEqual((await program.service.call('status', {})).upstreams, ['192.168.9.2:53']);
  assert.ok(all.every(({ queries }) => queries.length > 0));
  assert.ok(existsSync('/etc/resolv.conf'));
}

/** Clients with global addresses, on the machine's own links and elsewhere. */
async function clients(): Promise<void> {
  addLinks('lan0', 'lan1');
  ip('address', 'add', '2001:db8:1::1/64', 'dev', 'lan0', 'nodad');
  ip('address', 'add', '203.0.113.1/24', 'dev', 'lan0');
  // Whoever sends from these networks is on this machine here, without an address of its own.
  writeFileSync('/proc/sys/net/ipv6/ip_nonlocal_bind', '1');
  for (const network of ['2001:db8:1::/64', '2001:db8:2::/64', '2001:db8:3::/64']) {
    ip('-6', 'route', 'add', 'local', network, 'dev', 'lo');
  }
  for (const network of ['203.0.113.0/24', '198.51.100.0/24']) {
    ip('route', 'add', 'local', network, 'dev', 'lo');
  }
  const v4 = '203.0.113.1:5300';
  const v6 = '[2001:db8:1::1]:5300';
  const upstream = await FakeUpstream.open(t, replying({ answers: [a(300)] }));
  const { service } = await start({ listen: [v4, v6], upstreams: [upstream.endpoint] });
  const isAnswered = async (from: string): Promise<void> => {
    const answer = await askFrom(from, from.includes(':') ? v6 : v4, 'www.example');
    assert.equal(answer.answers?.length, 1);
  };
  await isAnswered('2001:db8:1::99');
  await isAnswered('203.0.113.77');
  await assert.rejects(isAnswered('198.51.100.7'));
  await assert.rejects(isAnswered('2001:db8:2::99'));
  const status = async (): Promise<Status> => service.call('status', {});
  await until(async () => {
    const { notices, totals } = await status();
    assert.equal(totals.denied, 2);
    assert.match(notices.join(), /^2 questions of clients outside dns\.allow .* 2001:db8:2::99\. /);
  });
  // Another prefix comes, as with a new day of a provider; then the old one goes.
  ip('address', 'add', '2001:db8:2::1/64', 'dev', 'lan0', 'nodad');
  await until(() => isAnswered('2001:db8:2::99'));
  ip('address', 'delete', '2001:db8:2::1/64', 'dev', 'lan0');
  await until(() => assert.rejects(isAnswered('2001:db8:2::99')));
  // DHCPv6: the address comes without its network, which the link's route tells.
  ip('address', 'add', '2001:db8:3::1/128', 'dev', 'lan0', 'nodad');
  await assert.rejects(isAnswered('2001:db8:3::99'));
  ip('-6', 'route', 'add', '2001:db8:3::/64', 'dev', 'lan0');
  await until(() => isAnswered('2001:db8:3::99'));
  // A route of a tunnel to everywhere makes nobody a neighbour.
  ip('-6', 'route', 'add', '2000::/3', 'dev', 'lan0');
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  await assert.rejects(isAnswered('2001:db8:2::99'));
}

/** A listen address that comes is told in health until it is there. */
async function listen(): Promise<void> {
  const upstream = await FakeUpstream.open(t, replying({ answers: [a(300)] }));
  const late = '192.168.7.1:5300';
  const { service } = await start({ listen: [OWN, late], upstreams: [upstream.endpoint] });
  const before = await service.call('status', {});
  assert.equal(before.health, 'degraded');
  assert.deepEqual(before.listening, [OWN]);
  assert.match(before.degradedReasons.join(), /^DNS is not answered on 192\.168\.7\.1:5300: /);
  addLinks('lan0', 'lan1');
  ip('address', 'add', '192.168.7.1/24', 'dev', 'lan0');
  await until(async () => {
    assert.equal((await askUdp(late, 'www.example', 'A', { timeoutMs: 500 })).rcode, 'NOERROR');
    const { health, listening } = await service.call('status', {});
    assert.deepEqual([health, listening], ['ok', [OWN, late]]);
  });
}

const SCENARIOS: Record<string, () => Promise<void>> = { servers, clients, listen };
await scenario(SCENARIOS[process.argv[2] ?? ''] ?? listen);
