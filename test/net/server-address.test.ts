/**
 * Server and listener addresses as text, and the machine's own servers.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { AppError } from '../../main/contract/errors.ts';
import {
  formatEndpoint,
  formatServer,
  parseListen,
  parseServer,
} from '../../main/net/server-address.ts';
import { expandServers, systemServers } from '../../main/net/upstream/system-servers.ts';
import { tempDir } from '../support/temp-dir.ts';

test('servers in every written form', () => {
  const forms: Record<string, [string, number, string]> = {
    '9.9.9.9': ['9.9.9.9', 53, 'udp'],
    '9.9.9.9:5353': ['9.9.9.9', 5353, 'udp'],
    'udp://9.9.9.9': ['9.9.9.9', 53, 'udp'],
    'tcp://9.9.9.9:853': ['9.9.9.9', 853, 'tcp'],
    '2620:fe::fe': ['2620:fe::fe', 53, 'udp'],
    '[2620:fe::fe]': ['2620:fe::fe', 53, 'udp'],
    'tcp://[2620:fe::fe]:54': ['2620:fe::fe', 54, 'tcp'],
  };
  for (const [text, expected] of Object.entries(forms)) {
    const { address, port, transport, family } = parseServer(text);
    assert.deepEqual([address, port, transport], expected, text);
    assert.equal(family, address.includes(':') ? 6 : 4);
    assert.deepEqual(parseServer(formatServer(parseServer(text))), parseServer(text));
  }
});

test('what is no server is refused, and the text is named', () => {
  const wrong = [
    '',
    'dns.example',
    '9.9.9',
    '9.9.9.9:0',
    '9.9.9.9:70000',
    '300.1.1.1',
    '[9.9.9.9]',
  ];
  for (const text of [...wrong, 'https://9.9.9.9', '[::1', '[::1]:x', '9.9.9.9 ']) {
    assert.throws(
      () => parseServer(text),
      (error) => {
        assert.ok(error instanceof AppError);
        assert.equal(error.code, 'CONFIG_INVALID');
        assert.ok(error.message.includes(`"${text}"`));
        return true;
      },
    );
  }
});

test('listening addresses need a port, which may be 0', () => {
  assert.deepEqual(parseListen('127.0.0.1:0'), { address: '127.0.0.1', port: 0, family: 4 });
  assert.deepEqual(parseListen('[::1]:53'), { address: '::1', port: 53, family: 6 });
  for (const text of ['127.0.0.1', '::1', 'localhost:53', '127.0.0.1:65536']) {
    assert.throws(() => parseListen(text), { code: 'CONFIG_INVALID' });
  }
  assert.equal(formatEndpoint('::1', 53), '[::1]:53');
  assert.equal(formatEndpoint('127.0.0.1', 53), '127.0.0.1:53');
});

test('the system servers: real ones first, those behind a stub next, never ourselves', async (t) => {
  const folder = await tempDir(t);
  const file = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  };
  const addresses = (own: string[], ...files: string[]): string[] =>
    systemServers(own, files).map(formatServer);
  const stub = await file('stub', '# stub\nnameserver 127.0.0.53\noptions edns0\n');
  const behind = await file('behind', 'nameserver 192.0.2.1\n nameserver\t2001:db8::1\nsearch x\n');
  const mixed = await file(
    'mixed',
    'nameserver 127.0.0.1\nnameserver 192.0.2.9\nnameserver junk\n',
  );
  const local = await file('local', 'nameserver 127.0.0.1\nnameserver ::1\n');
  const missing = join(folder, 'missing');
  assert.deepEqual(addresses([], stub, behind), ['192.0.2.1:53', '[2001:db8::1]:53']);
  assert.deepEqual(addresses([], mixed, behind), ['192.0.2.9:53']);
  assert.deepEqual(addresses([], stub, missing), ['127.0.0.53:53']);
  assert.deepEqual(addresses(['127.0.0.1:53'], local, missing), ['[::1]:53']);
  assert.deepEqual(addresses(['127.0.0.1:5353'], local), ['127.0.0.1:53', '[::1]:53']);
  assert.deepEqual(addresses(['0.0.0.0:53', '[::]:53'], local), []);
  assert.deepEqual(addresses([], missing), []);
  // Routers announce link-local servers; without the link they lead nowhere.
  const scoped = await file(
    'scoped',
    'nameserver fe80::1%eth0\nnameserver fe80::2\nnameserver FE90::3\n',
  );
  assert.deepEqual(addresses([], scoped), ['[fe80::1%eth0]:53']);
  assert.deepEqual(addresses(['[fe80::1%eth0]:53'], scoped), []);
  // A wildcard listener of one family does not take the other's.
  assert.deepEqual(addresses(['0.0.0.0:53'], local), ['[::1]:53']);
});

test('a link-local address has its link with it', () => {
  const listen = { address: 'fe80::1%eth0', port: 53, family: 6 };
  assert.deepEqual(parseListen('[fe80::1%eth0]:53'), listen);
  for (const text of ['fe80::1%eth0', '[fe80::1%eth0]', 'udp://[fe80::1%eth0]:53']) {
    assert.deepEqual(parseServer(text), { ...listen, transport: 'udp' }, text);
    assert.equal(formatServer(parseServer(text)), '[fe80::1%eth0]:53');
  }
  assert.throws(() => parseServer('[fe80::1%]'), { code: 'CONFIG_INVALID' });
  assert.throws(() => parseListen('[127.0.0.1%eth0]:53'), { code: 'CONFIG_INVALID' });
});

test('a server that is named twice is asked once', () => {
  const servers = expandServers(['9.9.9.9', 'udp://9.9.9.9:53', 'tcp://9.9.9.9', '1.1.1.1'], []);
  assert.deepEqual(servers.map(formatServer), ['9.9.9.9:53', 'tcp://9.9.9.9:53', '1.1.1.1:53']);
  assert.throws(() => expandServers(['nonsense'], []), { code: 'CONFIG_INVALID' });
  assert.throws(() => expandServers(['127.0.0.1'], ['[::1]:53', '127.0.0.1:53']), {
    code: 'CONFIG_INVALID',
    message: /is Sluice itself/,
  });
});
