/**
 * Who holds a port: a real process on this machine, and the kernel's table in its odd forms.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { describeHolder, findPortHolder } from '../../main/net/port-holder.ts';
import { tempDir } from '../support/temp-dir.ts';

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
  assert.match(describeHolder(null), /another program/);
});
