/**
 * settings.export and settings.import: what comes back is what was there, whatever it was.
 */
import assert from 'node:assert/strict';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import type { ListMemory } from '../../main/lists/meta.ts';
import { tempDir } from '../support/temp-dir.ts';
import { FakeClock, fakeService } from './fakes.ts';

/** Numbers that look random and are the same each time. */
function sequence(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return (state >>> 8) % below;
  };
}

const LINES = [
  'rules:\n  - "||a.example^" # because\n  - "@@||b.example^"\n',
  'lists:\n  - { name: A, url: "https://lists.example/a.txt" } # first\n',
  'cache: { entriesMax: 77 }\n',
  'blocking:\n  # as asked\n  answer: nxdomain\n',
  'records:\n  - { name: nas.lan, type: A, value: 192.0.2.1 }\n',
  'clients:\n  - name: "Tablet äöü 🙂"\n    ids: [192.0.2.9]\n',
  'safeSearch: { enabled: true }\n',
  '# only a comment\n\n',
];

function settingsOf(next: (below: number) => number): string {
  const lines = LINES.filter(() => next(2) === 1);
  return `${next(2) === 1 ? '# mine\r\n' : ''}${lines.join('')}${next(2) === 1 ? '# end' : ''}`;
}

const memory: ListMemory = {
  ...{ name: 'A', url: 'https://lists.example/a.txt', rolledBack: 'ab12', format: 'hosts' },
  ...{ names: 5, change: null, current: null, previous: null },
};

describe('one file', () => {
  test('brings back every byte of the settings, the switch and the lists’ memory', async (t) => {
    for (let seed = 1; seed <= 12; seed++) {
      const next = sequence(seed);
      const clock = new FakeClock();
      const from = await fakeService(await tempDir(t), clock);
      const text = settingsOf(next);
      await writeFile(from.file, text);
      await from.service.reload();
      from.lists.memories = [memory];
      const state = next(3);
      if (state === 1) await from.protection.pause(30);
      if (state === 2) await from.protection.pause(undefined);
      const path = join(await tempDir(t), 'backup.json');
      const { bytes } = await from.service.call('settings.export', { path });
      const info = await stat(path);
      assert.equal(info.size, bytes);
      if (process.platform !== 'win32') assert.equal(info.mode & 0o777, 0o600);

      const to = await fakeService(await tempDir(t), clock);
      const found = await to.service.call('settings.import', { path });
      assert.equal(await readFile(to.file, 'utf8'), text, `seed ${seed}`);
      assert.deepEqual(to.store.config, from.store.config);
      assert.deepEqual(to.protection.state, from.protection.state);
      assert.deepEqual(found.protection, from.protection.state);
      assert.deepEqual(to.lists.memories, [memory]);
      const second = join(await tempDir(t), 'second.json');
      await to.service.call('settings.export', { path: second });
      assert.equal(await readFile(second, 'utf8'), await readFile(path, 'utf8'), `seed ${seed}`);
      for (const { service, protection } of [from, to]) {
        await service.close();
        await protection.close();
      }
    }
  });

  test('of another kind changes nothing, and no other file is written over', async (t) => {
    const folder = await tempDir(t);
    const { service, protection, file } = await fakeService(folder);
    t.after(async () => {
      await service.close();
      await protection.close();
    });
    const before = await readFile(file, 'utf8');
    const path = join(folder, 'other.json');
    for (const content of ['', '{}', 'null', '{"kind":"sluice-backup","version":1}']) {
      await writeFile(path, content);
      await assert.rejects(service.call('settings.import', { path }), { code: 'IMPORT_REFUSED' });
    }
    const wrong = { kind: 'sluice-backup', version: 1, settings: 'no: such key' };
    await writeFile(path, JSON.stringify(wrong));
    await assert.rejects(service.call('settings.import', { path }), { code: 'CONFIG_INVALID' });
    await writeFile(path, JSON.stringify({ ...wrong, version: 2 }));
    await assert.rejects(service.call('settings.import', { path }), /newer/);
    assert.equal(await readFile(file, 'utf8'), before);
    await assert.rejects(service.call('settings.export', { path: file }), {
      code: 'IMPORT_REFUSED',
    });
    assert.equal(await readFile(file, 'utf8'), before);
    await assert.rejects(service.call('settings.export', { path: 'here.json' }), {
      code: 'IMPORT_REFUSED',
    });
  });
});
