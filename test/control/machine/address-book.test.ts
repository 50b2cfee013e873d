/**
 * Addresses of encrypted upstreams: found by the bootstrap lookup, remembered, looked up again with
 * back-off; on invented time.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { LookupFunction } from 'node:net';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { AddressBook } from '../../../main/control/machine/address-book.ts';
import type { Addresses } from '../../../main/control/machine/address-book.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { FakeClock } from '../fakes.ts';

/** Answers look-ups as told, at once. */
class FakeLookup {
  readonly asked: string[] = [];
  answers: Record<string, string[]> = {};

  readonly lookup: LookupFunction = (hostname, _options, callback) => {
    this.asked.push(hostname);
    const found = this.answers[hostname];
    if (found === undefined) {
      callback(Object.assign(new Error('nobody answered'), { code: 'EAI_AGAIN' }), '', 0);
    } else {
      callback(
        null,
        found.map((address) => ({ address, family: address.includes(':') ? 6 : 4 })),
      );
    }
  };
}

function openBook(t: TestContext, file: string, names = new FakeLookup()) {
  const clock = new FakeClock();
  const seen: Addresses[] = [];
  const troubles: [string, string | null][] = [];
  const failures: string[] = [];
  const book = AddressBook.open({
    ...{ file, clock, lookup: names.lookup },
    onAddresses: (addresses) => seen.push(addresses),
    onTrouble: (host, reason) => troubles.push([host, reason]),
    onSaveFailed: (reason) => failures.push(reason),
  });
  t.after(() => book.close());
  return { book, clock, names, seen, troubles, failures };
}

test('found addresses are told, kept on disk, and used first at the next start', async (t) => {
  const file = join(await tempDir(t), 'addresses.json');
  const first = openBook(t, file);
  first.names.answers = { 'dns.example': ['192.0.2.1', '2001:db8::1'] };
  first.book.setHosts(['dns.example']);
  assert.deepEqual(first.seen, [{ 'dns.example': ['192.0.2.1', '2001:db8::1'] }]);
  await first.book.close();
  const second = openBook(t, file);
  second.book.setHosts(['dns.example']);
  assert.deepEqual(second.book.addresses, { 'dns.example': ['192.0.2.1', '2001:db8::1'] });
  assert.deepEqual(second.seen, [{ 'dns.example': ['192.0.2.1', '2001:db8::1'] }]);
  // Nobody answers, but nothing is missing either.
  assert.deepEqual(second.troubles, []);
});

test('without an answer the look-up is repeated after 1, 2, 4 ... 60 seconds', async (t) => {
  const { book, clock, names, troubles, seen } = openBook(t, join(await tempDir(t), 'a.json'));
  book.setHosts(['dns.example']);
  assert.deepEqual(troubles.at(-1), ['dns.example', 'no bootstrap server answered']);
  const timesSeconds: number[] = [];
  for (let second = 1; second <= 250; second++) {
    const before = names.asked.length;
    clock.advance(1_000);
    if (names.asked.length > before) timesSeconds.push(second);
  }
  assert.deepEqual(timesSeconds, [1, 3, 7, 15, 31, 63, 123, 183, 243]);
  names.answers = { 'dns.example': ['192.0.2.1'] };
  book.networkChanged();
  assert.deepEqual(seen, [{ 'dns.example': ['192.0.2.1'] }]);
  assert.deepEqual(troubles.at(-1), ['dns.example', null]);
});

test('a host is looked up again each hour, and when it cannot be reached, but not in a storm', async (t) => {
  const { book, clock, names, seen } = openBook(t, join(await tempDir(t), 'a.json'));
  names.answers = { 'dns.example': ['192.0.2.1'] };
  book.setHosts(['dns.example']);
  for (let index = 0; index < 100; index++) book.refresh('dns.example');
  assert.equal(names.asked.length, 1);
  clock.advance(5_000);
  names.answers = { 'dns.example': ['192.0.2.2'] };
  book.refresh('dns.example');
  book.refresh('unknown.example');
  assert.deepEqual(seen.at(-1), { 'dns.example': ['192.0.2.2'] });
  clock.advance(60 * 60_000);
  assert.equal(names.asked.length, 3);
  book.setHosts([]);
  assert.deepEqual(book.addresses, {});
  assert.equal(clock.timers, 0);
});

test('damaged files and foreign content are no addresses', async (t) => {
  const file = join(await tempDir(t), 'a.json');
  for (const text of ['', '{', 'null', '[]', '{"hosts":{"dns.example":["nonsense",7]}}']) {
    await writeFile(file, text);
    const { book, names } = openBook(t, file);
    names.answers = { 'dns.example': ['192.0.2.9'] };
    assert.deepEqual(book.addresses, {}, text);
    book.setHosts(['dns.example']);
    await book.close();
    assert.match(await readFile(file, 'utf8'), /192\.0\.2\.9/);
  }
});

test('a folder that cannot be written is told, and nothing else suffers', async (t) => {
  const { book, names, failures } = openBook(t, '/nowhere/at/all/a.json');
  names.answers = { 'dns.example': ['192.0.2.1'] };
  book.setHosts(['dns.example']);
  await book.close();
  assert.equal(failures.length, 1);
  assert.deepEqual(book.addresses, { 'dns.example': ['192.0.2.1'] });
});
