/**
 * Who holds a port: a real process on this machine, and the kernel's table in its odd forms.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { portTakenAdvice } from '../../../main/net/listen/port-advice.ts';
import {
  describeHolder,
  findPortHolder,
  type PortHolder,
} from '../../../main/net/listen/port-holder.ts';
import { tempDir } from '../../support/temp-dir.ts';

const HOLD = `
  const udp = require('dgram').createSocket('udp4');
  const tcp = require('net').createServer();
  tcp.listen(0, '127.0.0.1', () => udp.bind(tcp.address().port, '127.0.0.1', () =>
    console.log(tcp.address().port)));
`;

test('a process that holds a port is named with its id and command', async (t) => {
  if (process.platform !== 'linux') {
    t.skip('needs Linux: the table of sockets in /proc');
    return;
  }
  const holder = spawn(process.execPath, ['-e', HOLD], { stdio: ['ignore', 'pipe', 'inherit'] });
  t.after(() => holder.kill());
  const [line] = (await once(holder.stdout, 'data')) as [Buffer];
  const port = Number(line.toString());
  for (const transport of ['udp', 'tcp'] as const) {
    const found = findPortHolder(transport, '127.0.0.1', port);
    assert.equal(found?.pid, holder.pid);
    assert.match(
      describeHolder(found),
      new RegExp(`^by node.* \\(process ${String(holder.pid)}: .*node`),
    );
    assert.equal(findPortHolder(transport, '0.0.0.0', port)?.pid, holder.pid);
    assert.equal(findPortHolder(transport, '127.0.0.2', port), null);
  }
});

test('tables: wildcards conflict, other ports and connections do not', async (t) => {
  const proc = await tempDir(t);
  await mkdir(join(proc, 'net'));
  await mkdir(join(proc, '812', 'fd'), { recursive: true });
  await symlink('socket:[4711]', join(proc, '812', 'fd', '5'));
  await writeFile(join(proc, '812', 'comm'), 'dnsmasq\n');
  await writeFile(join(proc, '812', 'cmdline'), '/usr/sbin/dnsmasq\0-k\0');
  const row = (local: string, state: string): string =>
    `  0: ${local} 00000000:0000 ${state} 00000000:00000000 00:00000000 00000000   0   0 4711 1`;
  const found = async (text: string, address = '127.0.0.1'): Promise<number | undefined> => {
    await writeFile(join(proc, 'net', 'tcp'), `  sl  local_address\n${text}\n`);
    return findPortHolder('tcp', address, 53, proc)?.pid;
  };
  assert.equal(await found(row('0100007F:0035', '0A')), 812);
  assert.equal(await found(row('00000000:0035', '0A')), 812);
  assert.equal(await found(row('0200007F:0035', '0A'), '::'), 812);
  assert.equal(await found(row('0200007F:0035', '0A')), undefined);
  assert.equal(await found(row('0100007F:0036', '0A')), undefined);
  assert.equal(await found(row('0100007F:0035', '01')), undefined);
  const holder =
    (await found(row('0100007F:0035', '0A')), findPortHolder('tcp', '127.0.0.1', 53, proc));
  assert.equal(describeHolder(holder), 'by dnsmasq (process 812: /usr/sbin/dnsmasq -k)');
  for (const [text, unit] of [
    ['0::/system.slice/dnsmasq.service\n', 'dnsmasq.service'],
    ['0::/user.slice/user-1000.slice/user@1000.service/app.slice/a.service\n', ''],
    ['0::/system.slice/docker-4711.scope\n', ''],
  ] as const) {
    await writeFile(join(proc, '812', 'cgroup'), text);
    assert.equal(findPortHolder('tcp', '127.0.0.1', 53, proc)?.unit, unit);
  }
  assert.match(describeHolder(null), /another program/);
});

test('advice: another loopback address that is free, going on asking it, how to stop it', async (t) => {
  const proc = await tempDir(t);
  await mkdir(join(proc, 'net'));
  const held = async (...addresses: string[]): Promise<void> => {
    const rows = addresses.map((one) => `0: ${one}:0035 00000000:0000 07 0 0 0 0 0 4711 1`);
    await writeFile(join(proc, 'net', 'udp'), rows.join('\n'));
  };
  const dnsmasq = { pid: 812, name: 'dnsmasq', command: 'dnsmasq -k', unit: 'dnsmasq.service' };
  const advice = (holder: PortHolder | null): string =>
    portTakenAdvice(holder, 'dns', '127.0.0.1', 53, proc);
  await held('0100007F');
  assert.equal(
    advice(dnsmasq),
    'listen on another loopback address with --listen 127.0.0.2:53; to go on asking what listens ' +
      'there, add "127.0.0.1:53" to dns.upstreams; or stop dnsmasq with ' +
      '"sudo systemctl disable --now dnsmasq.service"',
  );
  await held('0100007F', '0200007F');
  assert.match(advice(null), /--listen 127\.0\.0\.3:53; .*or stop the other program$/);
  await held('00000000');
  assert.match(
    advice({ ...dnsmasq, unit: '' }),
    /^choose another port .*stop dnsmasq \(process 812\)$/,
  );
  assert.match(portTakenAdvice(null, 'http', '127.0.0.1', 8053, proc), /--http, or stop/);
});

test('the program names who holds its port and what to do, in one line', async (t) => {
  if (process.platform !== 'linux') {
    t.skip('needs Linux: the table of sockets in /proc');
    return;
  }
  const socket = createSocket('udp4');
  t.after(() => socket.close());
  await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
  const { port } = socket.address();
  const entry = fileURLToPath(new URL('../../../main/headless.ts', import.meta.url));
  const listen = `127.0.0.1:${String(port)}`;
  const words = [entry, 'run', '--data-dir', await tempDir(t), '--listen', listen];
  const program = spawn(process.execPath, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  program.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  assert.deepEqual((await once(program, 'close'))[0], 3);
  const lines = said.split('\n').filter((line) => line.includes('it is used'));
  assert.equal(lines.length, 1, said);
  const pid = String(process.pid);
  const other = String.raw`--listen 127\.0\.0\.2:${String(port)}`;
  assert.match(lines[0] ?? '', new RegExp(`by node.*process ${pid}.*${other}.*stop node`));
});
