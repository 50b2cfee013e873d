/**
 * The programs whose syntax some lists are in, run over such a list with an upstream that knows every
 * name: what they answer is what the list means.
 */
import { spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { TestContext } from 'node:test';
import { encode } from 'dns-packet';
import { freePort } from '../../bench/load/target.ts';
import { isSinkhole } from '../../main/lists/formats/dns-rewrite.ts';
import { askUdp } from './dns-client.ts';
import { FakeUpstream, type FakeQuery } from './fake-upstream.ts';
import { tempDir } from './temp-dir.ts';
import { findTool } from './tools.ts';

export type Dialect = 'rpz' | 'unbound' | 'dnsmasq';

/** Asks for type A. @returns `pass`, `block`, `nodata`, `refused`, or `A` and an address */
export type AskOwner = (name: string) => Promise<string>;

const AT_ONCE = 32;
/** Every name that does not say another one has this address. */
const PLAIN_ADDRESS = '203.0.113.99';

/** The address of a name: `ip-7.example` has 198.51.100.7. */
function addressOf(name: string): string {
  const last = /^ip-(\d+)\./i.exec(name)?.[1];
  return last === undefined ? PLAIN_ADDRESS : `198.51.100.${last}`;
}

/** Starts the owner of a dialect with a list; it ends with the test. */
export async function startOwner(
  t: TestContext,
  dialect: Dialect,
  lines: readonly string[],
): Promise<AskOwner> {
  const folder = await tempDir(t);
  const upstream = await FakeUpstream.open(t, (query) => [{ bytes: answerTo(query) }]);
  const port = await freePort();
  const list = join(folder, 'list');
  await writeFile(list, `${lines.join('\n')}\n`);
  const config = join(folder, 'config');
  const settings = { port, upstreamPort: upstream.port, list, folder };
  await writeFile(
    config,
    dialect === 'dnsmasq' ? dnsmasqConfig(settings) : unboundConfig(dialect, settings),
  );
  const [tool, ...args] =
    dialect === 'dnsmasq' ? ['dnsmasq', '-k', '-C', config] : ['unbound', '-d', '-c', config];
  const child = spawn(findTool(tool as string) ?? (tool as string), args, {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  t.after(() => child.kill('SIGKILL'));
  const seen: string[] = [];
  await new Promise<void>((done, fail) => {
    child.once('exit', (code) => fail(new Error(`${tool} ${String(code)}: ${seen.join('\n')}`)));
    createInterface({ input: child.stderr }).on('line', (line) => {
      if (seen.length < 20) seen.push(line);
      if (/start of service|: started, version/.test(line)) done();
    });
  });
  return async (name) => {
    const { rcode, answers } = await askUdp(`127.0.0.1:${String(port)}`, name);
    const address = answers?.find(({ type }) => type === 'A') as { data?: string } | undefined;
    if (rcode === 'NXDOMAIN') return 'block';
    if (rcode !== 'NOERROR') return rcode.toLowerCase();
    if (address?.data === undefined) return 'nodata';
    if (address.data === addressOf(name)) return 'pass';
    return isSinkhole(address.data) ? 'block' : `A ${address.data}`;
  };
}

/** All answers, some questions at a time. */
export async function askAll(ask: AskOwner, names: readonly string[]): Promise<string[]> {
  const answers = new Array<string>(names.length);
  let next = 0;
  const work = async (): Promise<void> => {
    for (let at = next++; at < names.length; at = next++) answers[at] = await ask(names[at] ?? '');
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return answers;
}

function answerTo({ id, name, type }: FakeQuery): Buffer {
  const answers =
    type === 'A' ? [{ type: 'A' as const, name, ttl: 60, data: addressOf(name) }] : [];
  return encode({ type: 'response', id, flags: 0x0180, questions: [{ type, name }], answers });
}

interface Settings {
  readonly port: number;
  readonly upstreamPort: number;
  readonly list: string;
  readonly folder: string;
}

function dnsmasqConfig({ port, upstreamPort, list }: Settings): string {
  return `port=${String(port)}
listen-address=127.0.0.1
bind-interfaces
no-resolv
no-hosts
no-daemon
log-facility=-
cache-size=0
dns-forward-max=1000
server=127.0.0.1#${String(upstreamPort)}
conf-file=${list}
`;
}

function unboundConfig(dialect: Dialect, { port, upstreamPort, list, folder }: Settings): string {
  const isRpz = dialect === 'rpz';
  return `server:
  interface: 127.0.0.1
  port: ${String(port)}
  do-daemonize: no
  username: ""
  chroot: ""
  directory: "${folder}"
  pidfile: ""
  use-syslog: no
  verbosity: 1
  do-not-query-localhost: no
  outgoing-range: 400
  num-queries-per-thread: 400
  module-config: "${isRpz ? 'respip ' : ''}iterator"
${isRpz ? '' : `  include: "${list}"\n`}remote-control:
  control-enable: no
forward-zone:
  name: "."
  forward-addr: 127.0.0.1@${String(upstreamPort)}
${isRpz ? `rpz:\n  name: "rpz.test"\n  zonefile: "${list}"\n` : ''}`;
}
