import assert from 'node:assert/strict';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { crc32 } from '../../../main/system/crc32.ts';
import {
  decode,
  encode,
  JournalFile,
  type Journal,
} from '../../../main/system-dns/takeover/journal.ts';
import { markOf } from '../../../main/system/process-mark.ts';
import { tempDir } from '../../support/temp-dir.ts';

const CONTENT: Omit<Journal, 'id' | 'writtenAtMs'> = {
  owner: 'systemd-resolved',
  servers: [{ address: '127.0.0.1', port: 5399 }],
  items: [
    {
      ...{ key: '2 wlan0', label: 'wlan0', skip: '', servers: ['10.0.0.1'], routingDomains: [] },
      properties: { dns: ['10.0.0.1'], domains: ['lan', '~büro.example'], dnsOverTls: 'no' },
    },
  ],
  holder: markOf(process.pid),
};
const WHOLE: Journal = { ...CONTENT, id: 'a', writtenAtMs: 1 };

test('a journal is read back exactly as it was written', async (t) => {
  const file = new JournalFile(await tempDir(t));
  const written = file.begin(CONTENT);
  assert.ok(written);
  assert.deepEqual(file.read(), { kind: 'whole', journal: written });
});

test('a journal that is cut at any byte, or has any bit turned, is known to be damaged', () => {
  const bytes = encode(WHOLE);
  for (let length = 0; length < bytes.length; length++) {
    assert.equal(decode(bytes.subarray(0, length)).kind, 'damaged', `cut at ${String(length)}`);
  }
  fc.assert(
    fc.property(fc.nat(bytes.length - 1), fc.nat(7), (at, bit) => {
      const turned = Buffer.from(bytes);
      turned[at] = (turned[at] ?? 0) ^ (1 << bit);
      const read = decode(turned);
      return read.kind === 'damaged';
    }),
  );
  assert.deepEqual(decode(bytes), { kind: 'whole', journal: WHOLE });
});

test('the copy serves when the journal itself is damaged, and neither is damaged, not none', async (t) => {
  const directory = await tempDir(t);
  const file = new JournalFile(directory);
  assert.ok(file.begin(CONTENT));
  writeFileSync(join(directory, 'takeover.journal'), 'sluice-journal 1 00');
  assert.equal(file.read().kind, 'whole');
  writeFileSync(join(directory, 'takeover.copy'), '');
  assert.equal(file.read().kind, 'damaged');
  file.remove();
  assert.deepEqual(file.read(), { kind: 'none' });
});

test('a second takeover cannot begin while there is a journal', async (t) => {
  const directory = await tempDir(t);
  const first = new JournalFile(directory).begin(CONTENT);
  assert.ok(first);
  assert.equal(new JournalFile(directory).begin(CONTENT), false);
  assert.deepEqual(readdirSync(directory).sort(), ['takeover.copy', 'takeover.journal']);
});

test('only the takeover that is meant is ended', async (t) => {
  const directory = await tempDir(t);
  const file = new JournalFile(directory);
  const written = file.begin(CONTENT);
  assert.ok(written);
  file.remove('another');
  assert.equal(file.read().kind, 'whole');
  file.remove(written.id);
  assert.equal(existsSync(join(directory, 'takeover.copy')), false);
  file.remove(written.id);
});

test('more items replace the journal, and a failed write leaves the old one', async (t) => {
  const directory = await tempDir(t);
  const file = new JournalFile(directory);
  const written = file.begin(CONTENT);
  assert.ok(written);
  const more = { ...written, items: [...written.items, ...written.items] };
  file.update(more);
  assert.deepEqual(file.read(), { kind: 'whole', journal: more });
});

test('the checksum is CRC-32', () => {
  assert.equal(crc32(Buffer.from('123456789')), 0xcbf43926); // the check value of its catalogue
});
