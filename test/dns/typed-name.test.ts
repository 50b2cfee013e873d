/** Names as people type or paste them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readTypedName } from '../../main/dns/typed-name.ts';

for (const [text, name] of [
  ['ads.example', 'ads.example'],
  [' ADS.example. ', 'ADS.example.'],
  ['münchen.de', 'xn--mnchen-3ya.de'],
  ['MÜNCHEN。de', 'xn--mnchen-3ya.de'],
  ['https://user:word@ads.example:8443/path?q=a#b', 'ads.example'],
  ['http://münchen.de/', 'xn--mnchen-3ya.de'],
  ['ads.example:443', 'ads.example'],
  ['ads.example/banner.js', 'ads.example'],
  ['_dmarc.ads.example', '_dmarc.ads.example'],
  ['a\\046b.example', 'a\\046b.example'],
] as const) {
  test(`${JSON.stringify(text)} is the name ${name}`, () => {
    assert.equal(readTypedName(text), name);
  });
}

for (const [text, why] of [
  ['192.0.2.1', /^name: "192\.0\.2\.1" is an IP address/],
  ['2001:db8::1', /is an IP address/],
  ['http://[2001:db8::1]:80/', /is an IP address/],
  ['192.0.2.1:53', /is an IP address/],
  ['https:///path', /has no host name/],
  ['two words', /is not a domain name/],
  ['  ', /is not a domain name/],
  ['mün\u0000chen.de', /is not a domain name/],
] as const) {
  test(`${JSON.stringify(text)} is refused`, () => {
    assert.throws(() => readTypedName(text), { code: 'ARGUMENT_INVALID', message: why });
  });
}
