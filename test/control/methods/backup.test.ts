/**
 * settings.export and settings.import: what comes back is what was there, whatever it was.
 */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { describe, test, type TestContext } from 'node:test';
import type { ListMemory } from '../../../main/lists/meta.ts';
import type { ControlPlane } from '../../../main/control/control-plane.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { FakeClock, fakeService } from '../fakes.ts';

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
      const saved = await from.service.call('settings.export', {});
      assert.equal(saved.name, 'sluice-2026-01-01.json');

      const to = await fakeService(await tempDir(t), clock);
      const upload = await send(to.service, saved.text);
      const found = await to.service.call('settings.import', { upload });
      assert.equal(await readFile(to.file, 'utf8'), text, `seed ${seed}`);
      assert.deepEqual(to.store.config, from.store.config);
      assert.deepEqual(to.protection.state, from.protection.state);
      assert.deepEqual(found.protection, from.protection.state);
      assert.deepEqual(to.lists.memories, [memory]);
      assert.deepEqual(await to.service.call('settings.export', {}), saved, `seed ${seed}`);
      await assert.rejects(to.service.call('settings.import', { upload }), {
        code: 'UPLOAD_UNKNOWN',
      });
      for (const { service, protection } of [from, to]) {
        await service.close();
        await protection.close();
      }
    }
  });

  test('of another kind changes nothing', async (t) => {
    const { service, file } = await setUp(t);
    const before = await readFile(file, 'utf8');
    const put = async (content: string) =>
      service.call('settings.import', { upload: await send(service, content) });
    for (const content of ['', '{}', 'null', '{"kind":"sluice-backup","version":1}']) {
      await assert.rejects(put(content), { code: 'IMPORT_REFUSED' });
    }
    const wrong = { kind: 'sluice-backup', version: 1, settings: 'no: such key' };
    await assert.rejects(put(JSON.stringify(wrong)), { code: 'CONFIG_INVALID' });
    await assert.rejects(put(JSON.stringify({ ...wrong, version: 2 })), /newer/);
    assert.equal(await readFile(file, 'utf8'), before);
  });

  test('brings no list in a file of this machine, unless the command line here sends it', async (t) => {
    const { service, file } = await setUp(t);
    const remote = { permission: 'write', isLocal: false } as const;
    const settings = 'lists: [{ name: Secrets, url: "file:///etc/passwd" }]\n';
    const backup = JSON.stringify({ kind: 'sluice-backup', version: 1, settings });
    const put = async (caller: typeof remote | undefined) =>
      service.call('settings.import', { upload: await send(service, backup) }, caller);
    const before = await readFile(file, 'utf8');
    await assert.rejects(put(remote), { code: 'LOCAL_ONLY', message: /Secrets.*etc\/passwd/ });
    assert.equal(await readFile(file, 'utf8'), before);
    await put(undefined);
    assert.equal(await readFile(file, 'utf8'), settings);
    // It is in the settings now, and may be put back from anywhere.
    assert.equal((await put(remote)).lists, 1);
    await service.call('lists.remove', { name: 'Secrets' });
    const yaml =
      'schema_version: 29\ndns: {}\nfilters: [{ enabled: true, url: "file:///etc/passwd", name: X }]\n';
    const upload = await send(service, yaml);
    const report = await service.call('import.apply', { upload }, remote);
    assert.doesNotMatch(JSON.stringify(report.taken), /passwd/);
    assert.doesNotMatch(await readFile(file, 'utf8'), /passwd/);
  });
});

async function setUp(t: TestContext) {
  const made = await fakeService(await tempDir(t));
  t.after(async () => {
    await made.service.close();
    await made.protection.close();
  });
  return made;
}

async function send(service: ControlPlane, text: string): Promise<string> {
  return (await service.uploads.append(null, Buffer.from(text))).id;
}
