/**
 * Names of home networks: which there are, that the file of top-level domains is that of the Public
 * Suffix List in use, and that private addresses of home names reach those who ask.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { homeNames } from '../../../main/control/policy/home-names.ts';
import { resourcePath } from '../../../main/control/process/resources.ts';
import { isPublicSuffix } from '../../../main/lists/formats/public-suffix.ts';
import { EngineHarness } from '../../support/engine-fakes.ts';
import { a, header, replyTo } from '../../support/dns-wire.ts';

/** Not special to those who ask (RFC 6761 §6.5): it stands for public names. */
const DOCUMENTATION = 'example';
const LINE_CHARS = 100;

interface Trie {
  readonly edgeStart: Uint16Array;
  readonly edgeLength: Uint8Array;
  readonly labelText: string;
  readonly rulesRoot: number;
}

/** The names right below the root of the Public Suffix List that tldts carries. */
async function rootOfList(): Promise<string[]> {
  const file = join(import.meta.dirname, '../../../node_modules/tldts/dist/es6/src/data/trie.js');
  const { edgeStart, edgeLength, labelText, rulesRoot } = (await import(file)) as Trie;
  const names: string[] = [];
  let at = 0;
  for (const [edge, length] of edgeLength.entries()) {
    const isTop = edge >= (edgeStart[rulesRoot] ?? 0) && edge < (edgeStart[rulesRoot + 1] ?? 0);
    if (isTop) names.push(labelText.slice(at, at + length));
    at += length;
  }
  return names.filter((name) => /^[a-z0-9-]+$/.test(name));
}

function fileOf(names: readonly string[]): string {
  const lines = [''];
  for (const name of names) {
    const line = `${lines.at(-1) ?? ''} ${name}`.trim();
    if (line.length > LINE_CHARS) lines.push(name);
    else lines[lines.length - 1] = line;
  }
  return `${lines.join('\n')}\n`;
}

test('the top-level domains are those of the list in use; SLUICE_UPDATE=1 writes them', async () => {
  const path = resourcePath('names/top-level-domains.txt');
  const text = readFileSync(path, 'utf8');
  const head = text.match(/^(#.*\n)+/)?.[0] ?? '';
  const wanted = head + fileOf([...(await rootOfList()), DOCUMENTATION].sort());
  if (process.env['SLUICE_UPDATE'] === '1') writeFileSync(path, wanted);
  else assert.equal(text, wanted);
  const { publicTlds } = homeNames();
  for (const tld of ['com', 'de', 'uk', 'dev', 'zip', 'box', 'ck', 'arpa', 'xn--p1ai', 'example']) {
    assert.ok(publicTlds.includes(` ${tld} `), tld);
  }
});

test('names of devices are public ones, and nothing that strangers can have a name below', () => {
  const { devices, publicTlds } = homeNames();
  assert.equal(new Set(devices).size, devices.length);
  for (const name of devices) {
    assert.match(name, /^([a-z0-9-]+\.)+[a-z0-9-]+$/);
    assert.ok(!isPublicSuffix(name), name);
    assert.ok(publicTlds.includes(` ${name.split('.').at(-1) ?? ''} `), `${name} needs no line`);
  }
});

describe('a private address', () => {
  const { publicTlds, devices } = homeNames();
  const reply = (query: Uint8Array) => replyTo(query, { answers: [a(60, 192, 168, 1, 5)] });
  const ask = (name: string, rebinding = {}): string => {
    const harness = new EngineHarness({ rebinding: { allow: devices, publicTlds, ...rebinding } });
    const answer = harness.resolve(name, 'A', reply);
    return `${String(header(answer).counts[1])} ${harness.sink.last.reason}`;
  };

  for (const name of [
    ...['nas', 'NAS', 'nas.lan', 'printer.home', 'wpad.fritz.box', 'fritz.box', 'srv.corp'],
    ...['routerlogin.net', 'www.routerlogin.net', 'router.asus.com', 'tplinkwifi.net'],
    ...['speedport.ip', 'giga.cube', 'pi.hole', 'unifi', 'x.ad.firm.intern', 'o2.box'],
    ...['homerouter.cpe', 'com.lan', 'a.comm', 'xn--abc', '_ldap._tcp.dc.corp'],
  ]) {
    test(`of ${name} stays`, () => {
      assert.equal(ask(name), '1 none');
    });
  }

  for (const name of [
    ...['evil.com', 'lan.evil.com', 'nas.lan.evil.de', 'www.box', 'notfritz.box', 'example.co.uk'],
    ...['me.myfritz.net', 'me.asuscomm.com', 'asus.com', 'www.asus.com', 'x.example', 'ai'],
    ...['fritz.box.evil.net', 'x.xn--p1ai', 'x.zip', 'x.dev'],
  ]) {
    test(`of ${name} goes`, () => {
      assert.equal(ask(name), '0 rebinding');
    });
  }

  test('goes from every name when no top-level domain is known', () => {
    assert.equal(ask('nas.lan', { publicTlds: '' }), '0 rebinding');
  });

  test('behind an alias counts by the name that was asked', () => {
    const harness = new EngineHarness({ rebinding: { publicTlds } });
    const target = [3, ...Buffer.from('nas'), 3, ...Buffer.from('lan'), 0];
    const answer = harness.resolve('www.evil.com', 'A', (query) =>
      replyTo(query, {
        answers: [
          { type: 'CNAME', ttl: 60, data: target },
          { name: 'nas.lan', type: 'A', ttl: 60, data: [192, 168, 1, 5] },
        ],
      }),
    );
    assert.equal(header(answer).counts[1], 0);
    assert.equal(harness.sink.last.reason, 'rebinding');
  });
});
