/**
 * Whose socket is at the other end: made-up socket tables, real connections, real other users.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer, connect, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { isOwnPeer, type Ends } from '../../main/interfaces/peer-owner.ts';
import { tempDir } from '../support/temp-dir.ts';
import { openDoors } from './open-doors.ts';

const HEADER = '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid';
const OWN = process.getuid?.() ?? -1;
const noLinux = process.platform === 'linux' ? false : 'needs Linux';
const noRoot = OWN === 0 ? noLinux : 'needs root, to run a client as another user';

function line(local: string, remote: string, state: string, uid: number, inode: number): string {
  const rest = `${state} 00000000:00000000 00:00000000 00000000 ${String(uid)} 0 ${String(inode)} 1`;
  return `   0: ${local} ${remote} ${rest}`;
}

const V4: Ends = {
  ...{ localAddress: '127.0.0.1', localPort: 8053, remoteAddress: '127.0.0.1', remotePort: 40000 },
};
const V6: Ends = { ...V4, localAddress: '::1', remoteAddress: '::1' };
const [CLIENT, SERVER] = ['0100007F:9C40', '0100007F:1F75'];
const MAPPED = '0000000000000000FFFF0000';
const LOOPBACK6 = '00000000000000000000000001000000';

const CASES: [what: string, ends: Ends, rows: string[], expected: boolean][] = [
  ['the same user', V4, [line(CLIENT, SERVER, '01', OWN, 7)], true],
  ['root', V4, [line(CLIENT, SERVER, '01', 0, 7)], true],
  ['another user', V4, [line(CLIENT, SERVER, '01', 12345, 7)], false],
  [
    'a closed socket, which the kernel shows as owned by 0',
    V4,
    [line(CLIENT, SERVER, '05', 0, 0)],
    false,
  ],
  ['a socket that waits', V4, [line(CLIENT, SERVER, '06', 0, 0)], false],
  ['an established one that nobody holds', V4, [line(CLIENT, SERVER, '01', 0, 0)], false],
  ['only our own end', V4, [line(SERVER, CLIENT, '01', OWN, 7)], false],
  ['another port', V4, [line('0100007F:9C41', SERVER, '01', OWN, 7)], false],
  ['nothing', V4, [], false],
  ['garbage', V4, ['', 'x', '0: : : : :'], false],
  [
    'a client with an IPv6 socket',
    V4,
    [line(`${MAPPED}${CLIENT}`, `${MAPPED}${SERVER}`, '01', OWN, 7)],
    true,
  ],
  ['IPv6', V6, [line(`${LOOPBACK6}:9C40`, `${LOOPBACK6}:1F75`, '01', OWN, 7)], true],
  [
    'our side mapped',
    { ...V4, remoteAddress: '::ffff:127.0.0.1' },
    [line(CLIENT, SERVER, '01', OWN, 7)],
    true,
  ],
  [
    'not loopback',
    { ...V4, remoteAddress: '192.0.2.1' },
    [line('010200C0:9C40', SERVER, '01', OWN, 7)],
    false,
  ],
  ['ended', { localPort: 1 } as Ends, [line(CLIENT, SERVER, '01', OWN, 7)], false],
];

for (const [what, ends, rows, expected] of CASES) {
  test(`table with ${what}: ${expected ? 'own' : 'not own'}`, { skip: noLinux }, async (t) => {
    const file = join(await tempDir(t), 'tcp');
    await writeFile(file, [HEADER, ...rows, ''].join('\n'));
    assert.equal(await isOwnPeer(ends, ['/nonexistent', file]), expected);
  });
}

for (const [host, listen] of [
  ['127.0.0.1', '127.0.0.1'],
  ['::1', '::1'],
  ['127.0.0.1', '::'],
] as const) {
  test(`a real connection to ${host} at ${listen} is our own`, { skip: noLinux }, async (t) => {
    const server = createServer();
    server.listen(0, listen);
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, host);
    t.after(() => {
      client.destroy();
      server.close();
    });
    const [socket] = (await once(server, 'connection')) as [Socket];
    assert.equal(await isOwnPeer(socket), true);
  });
}

test('another user of this machine needs the token', { skip: noRoot }, async (t) => {
  const { http } = await openDoors(t);
  const request =
    'GET /api/status HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nConnection: close\\r\\n\\r\\n';
  const reply = await asNobody(http, `printf '${request}' >&3; cat <&3`);
  assert.match(reply, /^HTTP\/1\.1 401 /);
});

test(
  'a stranger who hangs up before being looked at gets nothing done',
  { skip: noRoot },
  async (t) => {
    const { http, service } = await openDoors(t);
    const request =
      'POST /api/pause HTTP/1.1\\r\\nHost: 127.0.0.1\\r\\nContent-Type: application/json\\r\\n' +
      'Content-Length: 2\\r\\n\\r\\n{}';
    for (let round = 0; round < 10; round++) await asNobody(http, `printf '${request}' >&3`);
    await fetch(`${http}/health`);
    assert.equal((await service.call('status', {})).protection.state, 'on');
  },
);

/** Runs shell lines as another user, with descriptor 3 connected to the door. */
async function asNobody(http: string, script: string): Promise<string> {
  const { port } = new URL(http);
  const child = spawn('bash', ['-c', `exec 3<>/dev/tcp/127.0.0.1/${port}; ${script}`], {
    ...{ uid: 65_534, gid: 65_534, cwd: '/', stdio: ['ignore', 'pipe', 'inherit'] },
  });
  let text = '';
  child.stdout.on('data', (part: Buffer) => (text += part.toString()));
  await once(child, 'close');
  return text;
}
