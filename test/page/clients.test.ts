/** The pages Clients and Backup in a real browser. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { en } from '../../main/texts/en/index.ts';
import { describeWindow, eventually } from './window-under-test.ts';

const refused = /^Failed to load resource: [^,]*400[^,]*$/;

describeWindow('clients and backup', (lab) => {
  test('a client that was seen gets a name; those of a network are known already', async () => {
    const { page, service } = await lab().open({ path: '#/clients' });
    const seen = page.getByRole('region', { name: en.clients.seen }).getByRole('listitem');
    await seen.filter({ hasText: '192.168.10.7' }).getByText('Console').waitFor();
    await seen.filter({ hasText: '192.168.1.24' }).getByText("Ana's laptop").waitFor();
    await page.getByRole('button', { name: 'Name this client, fd00::5c1:22' }).click();
    const dialog = page.getByRole('dialog', { name: 'Name a client' });
    assert.equal(await dialog.getByLabel(en.clients.identifiers).inputValue(), 'fd00::5c1:22');
    await dialog.getByLabel('Name', { exact: true }).fill('Phone');
    await dialog.getByLabel('Group').selectOption('Children');
    await dialog.getByLabel('Tags').fill('device_phone, User_Child');
    await dialog.getByRole('button', { name: 'Add client' }).click();
    await seen.filter({ hasText: 'fd00::5c1:22' }).getByText('Phone').waitFor();
    assert.deepEqual(service.callsOf('clients.put'), [
      {
        client: {
          ...{ name: 'Phone', ids: ['fd00::5c1:22'], group: 'Children' },
          tags: ['device_phone', 'user_child'],
        },
      },
    ]);
  });

  test('a client is changed, refused beside its field, removed and put back', async () => {
    const { page, service, faults } = await lab().open({ path: '#/clients' });
    await page.getByRole('button', { name: en.clients.editOne('Console') }).click();
    const dialog = page.getByRole('dialog', { name: en.clients.editClient });
    await dialog.getByLabel(en.clients.identifiers).fill('the console');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.getByText('write an IP address, a network or a MAC address.').waitFor();
    await dialog.getByLabel(en.clients.identifiers).fill('192.168.10.7 02:00:5e:10:00:02');
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.match(faults.splice(0).join(), refused);
    const console = service.methods.filters.clients.find(({ name }) => name === 'Console');
    assert.deepEqual(console?.ids, ['192.168.10.7', '02:00:5e:10:00:02']);
    await page.getByRole('button', { name: "Remove Ana's laptop" }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => {
      assert.equal(service.methods.filters.clients.length, 2);
    });
  });

  test('a group has lists, rules, services and safe search of its own', async () => {
    const { page, service } = await lab().open({ path: '#/clients/groups' });
    await page.getByText('all lists · 1 group rule · 2 services blocked · safe search').waitFor();
    await page.getByRole('button', { name: 'New group' }).click();
    const dialog = page.getByRole('dialog', { name: 'New group' });
    await dialog.getByLabel('Name', { exact: true }).fill('Guests');
    await dialog.getByText('Only some', { exact: true }).click();
    await dialog.getByLabel('StevenBlack').check();
    await dialog.getByLabel(en.clients.rules).fill('||a.example^\n\n@@||b.example^');
    await dialog.getByText('Only some engines').click();
    await dialog.getByLabel('Ecosia').check();
    await dialog.getByText('Blocked services (0)').click();
    await dialog.getByLabel('Steam').check();
    await dialog.getByRole('button', { name: 'Add group' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(service.callsOf('groups.put'), [
      {
        group: {
          ...{ name: 'Guests', filtering: true, lists: ['StevenBlack'], services: ['steam'] },
          ...{ rules: ['||a.example^', '@@||b.example^'], safeSearch: ['ecosia'] },
        },
      },
    ]);
  });

  test('a group is switched off; one with clients says why it stays', async () => {
    const { page, service, faults } = await lab().open({ path: '#/clients/groups' });
    await page.getByRole('switch', { name: 'Filter for the group Children' }).click();
    await eventually(() => {
      assert.equal(service.methods.filters.groups[0]?.filtering, false);
    });
    await page.getByRole('button', { name: 'Remove Children' }).click();
    await page.getByText(en.clients.groupInUse('Children')).waitFor();
    assert.match(faults.splice(0).join(), refused);
    await page.getByRole('button', { name: 'Remove Work' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => {
      assert.equal(service.methods.filters.groups.length, 2);
    });
  });

  test('without clients, groups and queries the page says what to do', async () => {
    const { page } = await lab().open({
      path: '#/clients',
      prepare({ methods: { filters } }) {
        filters.clients = [];
        filters.groups = [];
      },
    });
    await page.getByText(en.clients.none).waitFor();
    await page.getByRole('link', { name: 'Groups' }).click();
    await page.getByText('No groups').waitFor();
  });

  test('import: a preview first with what is skipped, then applies what is chosen', async () => {
    const { page, service, faults } = await lab().open({ path: '#/backup' });
    const panel = page.getByRole('region', { name: en.backup.import });
    const file = panel.getByLabel(en.backup.importFrom);
    const choose = (text: string) =>
      file.setInputFiles({ name: 'gravity.db', mimeType: '', buffer: Buffer.from(text) });
    await choose('');
    await panel.getByRole('button', { name: en.backup.preview }).click();
    await panel.getByText('The file is of no known kind.').waitFor();
    assert.match(faults.splice(0).join(), refused);
    await choose('SQLite format 3');
    await panel.getByRole('button', { name: en.backup.preview }).click();
    await panel.getByText(`${en.backup.isNew(3)}, ${en.backup.isKnown(1)}`).waitFor();
    await panel
      .getByText(en.backup.timesSkipped(2, 'A regular expression that looks behind itself.'))
      .waitFor();
    await panel.getByText(`${en.backup.isNew(1)}, ${en.backup.replaces(4)}`).waitFor();
    await panel.getByLabel(en.backup.sections.upstreams).uncheck();
    await panel.getByRole('button', { name: en.backup.importChosen }).click();
    await panel.getByText(en.backup.imported, { exact: true }).waitFor();
    assert.deepEqual(service.callsOf('import.apply'), [
      {
        upload: '2'.padStart(22, '0'),
        name: 'gravity.db',
        only: ['lists', 'rules', 'records'],
      },
    ]);
  });

  test('inside the desktop app a file goes over the bridge in pieces, without its path', async () => {
    const { page, service } = await lab().open();
    await page.addInitScript(`
      window.pieces = [];
      window.sluice = {
        call: (name, input) => {
          window.called = [name, input];
          return new Promise(() => undefined);
        },
        subscribe: () => () => undefined,
        upload: async (id, piece) => {
          window.pieces.push([id, piece.length]);
          return { ok: true, value: { id: 'an-id', bytes: 0 } };
        },
      };
    `);
    await page.goto(`${service.url}?desktop#/backup`);
    const panel = page.getByRole('region', { name: en.backup.import });
    await panel
      .getByLabel(en.backup.importFrom)
      .setInputFiles({ name: 'gravity.db', mimeType: '', buffer: Buffer.alloc(2_500_000) });
    await panel.getByRole('button', { name: en.backup.preview }).click();
    await eventually(async () => {
      assert.deepEqual(await page.evaluate('window.called'), [
        'import.preview',
        { upload: 'an-id', name: 'gravity.db' },
      ]);
    });
    assert.deepEqual(await page.evaluate('window.pieces'), [
      [null, 1_048_576],
      ['an-id', 1_048_576],
      ['an-id', 402_848],
    ]);
  });

  test('backup: saved as a download, and put back only after a yes', async () => {
    const { page, service } = await lab().open({ path: '#/backup' });
    const downloading = page.waitForEvent('download');
    await page.getByRole('button', { name: en.backup.saveNow, exact: true }).click();
    const saved = await downloading;
    assert.equal(saved.suggestedFilename(), 'sluice-2026-11-03.json');
    assert.equal(await readFile(await saved.path(), 'utf8'), '{"all": true}\n');
    await page.getByText(en.backup.saved('sluice-2026-11-03.json')).waitFor();
    await page.getByLabel(en.backup.restoreFrom).setInputFiles(await saved.path());
    await page.getByRole('button', { name: en.backup.restoreNow }).click();
    const dialog = page.getByRole('dialog', { name: en.backup.confirm });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(service.callsOf('settings.import'), []);
    await page.getByRole('button', { name: en.backup.restoreNow }).click();
    await dialog.getByRole('button', { name: en.backup.replaceAll }).click();
    await page.getByText(/^Restored the backup from .*2026.*, with 4 lists\.$/).waitFor();
    assert.deepEqual(service.methods.uploads, ['{"all": true}\n']);
    assert.deepEqual(service.callsOf('settings.import'), [{ upload: '1'.padStart(22, '0') }]);
  });
});
