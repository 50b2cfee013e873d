/**
 * Address text to bytes: against a plain reference, and the memo of the last clients.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { ClientAddresses, parseAddress } from '../../../main/net/listen/client-address.ts';

function bytesOf(text: string): string {
  const out = new Uint8Array(16).fill(0xee);
  parseAddress(text, out);
  return Buffer.from(out).toString('hex');
}

test('written forms', () => {
  const forms: Record<string, string> = {
    '0.0.0.0': '00000000000000000000ffff00000000',
    '192.0.2.255': '00000000000000000000ffffc00002ff',
    '::ffff:192.0.2.1': '00000000000000000000ffffc0000201',
    '::': '00000000000000000000000000000000',
    '::1': '00000000000000000000000000000001',
    '1::': '00010000000000000000000000000000',
    'fe80::1%eth0': 'fe800000000000000000000000000001',
    '2001:db8::a:0:b': '20010db8000000000000000a0000000b',
    '2001:DB8:1:2:3:4:5:6': '20010db8000100020003000400050006',
    '1:2:3:4:5:6:7::': '00010002000300040005000600070000',
    '::2:3:4:5:6:7:8': '00000002000300040005000600070008',
  };
  for (const [text, hex] of Object.entries(forms)) assert.equal(bytesOf(text), hex, text);
});

test('any IPv4 address', () => {
  fc.assert(
    fc.property(fc.ipV4(), (text) => {
      const bytes = Buffer.from(text.split('.').map(Number)).toString('hex');
      assert.equal(bytesOf(text), `00000000000000000000ffff${bytes}`);
    }),
  );
});

test('any IPv6 address, compared with its form in a URL', () => {
  fc.assert(
    fc.property(fc.ipV6(), (text) => {
      // The URL parser prints one form for each address; both texts must mean the same bytes.
      const canonical = new URL(`http://[${text}]`).hostname.slice(1, -1);
      assert.equal(bytesOf(text), bytesOf(canonical));
    }),
  );
});

test('clients that share a slot of the memo are told apart', () => {
  const addresses = new ClientAddresses();
  for (let round = 0; round < 3; round++) {
    for (let last = 0; last < 256; last++) {
      for (const net of ['10.0.0', '10.0.1', '192.168.77']) {
        const text = `${net}.${String(last)}`;
        assert.equal(Buffer.from(addresses.bytesOf(text)).toString('hex'), bytesOf(text));
      }
    }
  }
  assert.equal(addresses.bytesOf('10.0.0.1'), addresses.bytesOf('10.0.0.1'));
});
