/**
 * Upstreams as text: what is read, what is refused and why, and DNS stamps.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { AppError } from '../../main/contract/errors.ts';
import {
  formatUpstream,
  nameToResolve,
  parseUpstream,
  upstreamKey,
} from '../../main/net/upstream-address.ts';
import type { SecureServer } from '../../main/net/upstream-address.ts';

const PIN = 'AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';

function secure(text: string): SecureServer {
  const server = parseUpstream(text);
  assert.ok('certificateName' in server, text);
  return server;
}

const READ: [text: string, shown: string, expected: Partial<SecureServer>][] = [
  ['tls://dns.quad9.net', 'tls://dns.quad9.net', { port: 853, certificateName: 'dns.quad9.net' }],
  ['TLS://DNS.Quad9.Net:8853/', 'tls://dns.quad9.net:8853', { host: 'dns.quad9.net', port: 8853 }],
  ['tls://9.9.9.9', 'tls://9.9.9.9', { certificateName: '9.9.9.9' }],
  ['tls://[2620:fe::fe]', 'tls://[2620:fe::fe]', { host: '2620:fe::fe', port: 853 }],
  [
    `tls://9.9.9.9#name=dns.quad9.net&pin=sha256/${PIN}`,
    'tls://9.9.9.9',
    { certificateName: 'dns.quad9.net', pins: [PIN] },
  ],
  [
    'tls://dns.example#ip=192.0.2.1&ip=[2001:db8::1]',
    'tls://dns.example',
    { addresses: ['192.0.2.1', '2001:db8::1'] },
  ],
  ['https://dns.example', 'https://dns.example/dns-query', { port: 443, method: 'POST' }],
  ['https://dns.example:8443/q{?dns}', 'https://dns.example:8443/q', { path: '/q', port: 8443 }],
  ['https://1.1.1.1/dns-query#get', 'https://1.1.1.1/dns-query', { method: 'GET' }],
];
for (const [text, shown, expected] of READ) {
  test(`${text} is read`, () => {
    const server = secure(text);
    assert.deepEqual({ ...server, ...expected }, server);
    assert.equal(formatUpstream(server), shown);
  });
}

const REFUSED: Record<string, RegExp> = {
  'dns.quad9.net': /not a plain DNS server/,
  'tls://': /write tls:\/\//,
  'tls://dns.quad9.net:0': /port/,
  'tls://dns.quad9.net:70000': /port/,
  'tls://dns.quad9.net/dns-query': /no path/,
  'tls://999.1.1.1': /neither a name nor/,
  'tls://[not-ip]': /neither a name nor/,
  'tls://bad_host-.example': /neither a name nor/,
  'tls://9.9.9.9#pin=sha256/short': /no option/,
  'tls://9.9.9.9#get': /no option/,
  'https://dns.example/#colour=red': /no option/,
  'https://user@dns.example/': /neither a name nor|write tls/,
  'quic://dns.example': /not a plain DNS server/,
};
for (const [text, reason] of Object.entries(REFUSED)) {
  test(`${text} is refused`, () => {
    assert.throws(
      () => parseUpstream(text),
      (error) => {
        assert.ok(error instanceof AppError);
        assert.equal(error.code, 'CONFIG_INVALID');
        assert.match(error.message, reason);
        return true;
      },
    );
  });
}

test('keys differ exactly when something about asking differs', () => {
  const texts = ['tls://a.example', 'tls://a.example#ip=192.0.2.1', `tls://a.example#pin=${PIN}`];
  texts.push('https://a.example', 'https://a.example#get', 'tls://a.example:854');
  const keys = texts.map((text) => upstreamKey(parseUpstream(text)));
  assert.equal(new Set(keys).size, texts.length);
  assert.equal(upstreamKey(parseUpstream('tls://A.example:853/')), keys[0]);
});

test('only a host name without a given address has to be resolved', () => {
  const name = (text: string): string => nameToResolve(parseUpstream(text));
  assert.equal(name('tls://dns.quad9.net'), 'dns.quad9.net');
  assert.equal(name('tls://dns.quad9.net#ip=9.9.9.9'), '');
  assert.equal(name('https://[2620:fe::fe]/'), '');
  assert.equal(name('9.9.9.9'), '');
});

/** Writes a stamp as its specification says. */
function stamp(protocol: number, ...fields: Buffer[]): string {
  const properties = Buffer.from([7, 0, 0, 0, 0, 0, 0, 0]);
  const bytes = Buffer.concat([Buffer.of(protocol), properties, ...fields]);
  return `sdns://${bytes.toString('base64url')}`;
}
const lp = (text: string): Buffer => Buffer.concat([Buffer.of(text.length), Buffer.from(text)]);
const vlp = (...parts: Buffer[]): Buffer =>
  Buffer.concat(
    (parts.length === 0 ? [Buffer.alloc(0)] : parts).flatMap((part, index) => [
      Buffer.of(part.length | (index < parts.length - 1 ? 0x80 : 0)),
      part,
    ]),
  );
const hash = (fill: number): Buffer => Buffer.alloc(32, fill);

test('stamps of plain servers', () => {
  assert.deepEqual(parseUpstream(stamp(0, lp('9.9.9.9'))), parseUpstream('9.9.9.9'));
  assert.deepEqual(
    parseUpstream(stamp(0, lp('[2620:fe::fe]:5353'))),
    parseUpstream('[2620:fe::fe]:5353'),
  );
});

test('stamps of DoT servers', () => {
  const server = secure(stamp(3, lp('192.0.2.1:8853'), vlp(hash(1), hash(2)), lp('dot.example')));
  assert.deepEqual(server, {
    transport: 'tls',
    host: 'dot.example',
    port: 8853,
    addresses: ['192.0.2.1'],
    certificateName: 'dot.example',
    pins: [],
    chainHashes: [hash(1).toString('hex'), hash(2).toString('hex')],
    path: '',
    method: 'POST',
  });
  const unhashed = secure(
    stamp(3, lp(''), vlp(), lp('dot.example:8853'), vlp(Buffer.from('9.9.9.9'))),
  );
  assert.deepEqual([unhashed.port, unhashed.addresses, unhashed.chainHashes], [8853, [], []]);
});

test('stamps of DoH servers', () => {
  const server = secure(stamp(2, lp('[2001:db8::1]'), vlp(), lp('doh.example'), lp('/q')));
  assert.equal(formatUpstream(server), 'https://doh.example/q');
  assert.deepEqual([server.port, server.addresses], [443, ['2001:db8::1']]);
  // As published for Quad9 by the project that made stamps.
  const quad9 = 'sdns://AgMAAAAAAAAABzkuOS45LjkADWRucy5xdWFkOS5uZXQKL2Rucy1xdWVyeQ';
  assert.equal(formatUpstream(parseUpstream(quad9)), 'https://dns.quad9.net/dns-query');
  assert.deepEqual(secure(quad9).addresses, ['9.9.9.9']);
});

const BAD_STAMPS: Record<string, [string, RegExp]> = {
  'no base64': ['sdns://***', /base64url/],
  nothing: ['sdns://', /base64url/],
  DNSCrypt: [stamp(1, lp('9.9.9.9')), /DNSCrypt, which is not supported/],
  QUIC: [stamp(4, lp('9.9.9.9'), vlp(), lp('q.example')), /QUIC, which is not supported/],
  'a relay': [stamp(0x81, lp('9.9.9.9')), /relay/],
  'an unknown protocol': [stamp(0x77), /number 119 is not known/],
  'a field cut off': [stamp(2, Buffer.of(20, 1)), /cut off/],
  'bytes behind': [stamp(0, lp('9.9.9.9'), Buffer.of(1)), /follow/],
  'a name for an address': [stamp(0, lp('dns.example')), /not a plain DNS server/],
  'a short hash': [stamp(3, lp(''), vlp(Buffer.of(1, 2)), lp('dot.example')), /SHA-256/],
  'no host': [stamp(3, lp('9.9.9.9'), vlp(), lp('')), /no host/],
  'a path without slash': [stamp(2, lp(''), vlp(), lp('d.example'), lp('q')), /path/],
};
for (const [what, [text, reason]] of Object.entries(BAD_STAMPS)) {
  test(`a stamp with ${what} is refused in words`, () => {
    assert.throws(() => parseUpstream(text), reason);
  });
}

test('any bytes as a stamp are read or refused as CONFIG_INVALID', () => {
  fc.assert(
    fc.property(fc.constantFrom(0, 2, 3), fc.uint8Array({ maxLength: 80 }), (protocol, bytes) => {
      const text = stamp(protocol, Buffer.from(bytes));
      try {
        formatUpstream(parseUpstream(text));
      } catch (error) {
        assert.ok(error instanceof AppError && error.code === 'CONFIG_INVALID', String(error));
      }
    }),
  );
});
