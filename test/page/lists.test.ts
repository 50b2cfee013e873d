/** The page Lists in a real browser: lists, what their updates did, the catalogue. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { en } from '../../main/texts/en/index.ts';
import { describeWindow, eventually } from './window-under-test.ts';

describeWindow('lists', (lab) => {
  test('lists: states, reasons and ignored lines are told', async () => {
    const { page } = await lab().open({ path: '#/lists' });
    const failed = page.getByRole('listitem').filter({ hasText: 'Tracker domains' });
    assert.match(
      await failed.innerText(),
      /Update failed[^]*serves a web page \(HTML\), not a list\.\s+The previous version stays in use/,
    );
    await page.getByText(en.lists.lines(141_534, 141_390, 99)).waitFor();
    assert.doesNotMatch(await failed.innerText(), / lines: /);
    assert.equal(await page.getByText('0.0.0.0 _dmarc').isVisible(), false);
    await page.getByText('45 lines ignored').click();
    await page.getByText('0.0.0.0 _dmarc').waitFor();
  });

  test('lists: switch, refresh, add, remove and undo', async () => {
    const { page, service } = await lab().open({ path: '#/lists' });
    await page.getByRole('switch', { name: 'Use the list Family' }).click();
    await eventually(() => {
      assert.deepEqual(service.callsOf('lists.enable'), [{ name: 'Family', enabled: true }]);
    });
    await page.getByRole('button', { name: 'Refresh StevenBlack now' }).click();
    await page.getByRole('button', { name: 'Refresh all' }).click();
    await eventually(() => {
      assert.deepEqual(service.callsOf('lists.refresh'), [{ name: 'StevenBlack' }, {}]);
    });
    await page.getByRole('link', { name: 'Add a list' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await page.getByLabel('Address', { exact: true }).fill('https://mine.example/list.txt');
    await page.getByRole('button', { name: 'Add list' }).click();
    await page.getByRole('link', { name: 'Your lists' }).click();
    await page.getByRole('heading', { name: 'Mine' }).waitFor();
    await page.getByRole('button', { name: 'Remove Mine' }).click();
    await page.getByRole('heading', { name: 'Mine' }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('heading', { name: 'Mine' }).waitFor();
  });

  test('lists: a refusal of the service stands beside the form', async () => {
    const { page, faults } = await lab().open({ path: '#/lists/add' });
    await page.getByLabel('Name', { exact: true }).fill('Family');
    await page.getByLabel('Address', { exact: true }).fill('https://mine.example/list.txt');
    await page.getByRole('button', { name: 'Add list' }).click();
    await page.getByText('A list named "Family" is there already.').waitFor();
    // Chromium itself reports an answer with status 400.
    assert.match(faults.splice(0).join(), /^Failed to load resource: [^,]*400[^,]*$/);
  });

  test('lists: a copy that waits says what it would block, and is used on request', async () => {
    const { page, service } = await lab().open({ path: '#/lists' });
    const item = page.getByRole('listitem').filter({ hasText: 'Everything and more' });
    await item.getByText(en.lists.state.review).waitFor();
    await item.getByText(/It would newly block 14 names you used, for example www\.shop/).waitFor();
    await page
      .getByRole('button', { name: 'Use the new version of Everything and more anyway' })
      .click();
    await item.getByRole('heading', { name: 'In use' }).waitFor();
    assert.deepEqual(service.callsOf('lists.accept'), [{ name: 'Everything and more' }]);
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => {
      assert.deepEqual(service.callsOf('lists.rollback'), [{ name: 'Everything and more' }]);
    });
  });

  test('lists: a copy that is no list cannot be used anyway', async () => {
    const { page } = await lab().open({
      path: '#/lists',
      prepare({ methods }) {
        const waiting = methods.lists.find(({ quarantine }) => quarantine !== null);
        assert.ok(waiting?.quarantine);
        waiting.quarantine = { ...waiting.quarantine, kind: 'not-a-list', acceptable: false };
      },
    });
    await page.getByText(en.lists.rejected).waitFor();
    assert.equal(await page.getByRole('button', { name: /anyway/ }).count(), 0);
  });

  test('lists: the last change, the versions, and the way back', async () => {
    const { page, service } = await lab().open({ path: '#/lists' });
    const item = page.getByRole('listitem').filter({ hasText: 'StevenBlack' });
    await item.getByText('+1,204 / −88 domains').waitFor();
    await item.getByText('Newly blocks 2 names you used: beacon.shop.example').waitFor();
    await item.getByText('2 versions').click();
    await item.getByText('140,274 entries').waitFor();
    await page.getByRole('button', { name: 'Restore previous version of StevenBlack' }).click();
    await item.getByText(en.lists.rolledBack).waitFor();
    assert.deepEqual(service.callsOf('lists.rollback'), [{ name: 'StevenBlack' }]);
  });

  test('lists: one that allows exact names is added, told as such, and comes back as it was', async () => {
    const { page, service } = await lab().open({ path: '#/lists/add' });
    await page.getByLabel('Name', { exact: true }).fill('Mine');
    await page.getByLabel('Address', { exact: true }).fill('https://mine.example/list.txt');
    await page.getByText(en.lists.options).click();
    await page.getByText(en.lists.actions.allow, { exact: true }).click();
    await page.getByText('Exact names only', { exact: true }).click();
    await page.getByRole('button', { name: 'Add list' }).click();
    const sent = {
      ...{ name: 'Mine', url: 'https://mine.example/list.txt', format: 'auto' },
      ...{ action: 'allow', match: 'exact' },
    };
    await eventually(() => {
      assert.deepEqual(service.callsOf('lists.add'), [sent]);
    });
    await page.getByRole('link', { name: 'Your lists' }).click();
    await page.getByText('allows its domains, exact names only').waitFor();
    await page.getByRole('button', { name: 'Remove Mine' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => {
      assert.deepEqual(service.callsOf('lists.add').at(-1), { ...sent, enabled: true });
    });
  });

  test('lists: what one is used for is changed, and back', async () => {
    const { page, service } = await lab().open({ path: '#/lists' });
    const item = page.getByRole('listitem').filter({ hasText: 'Tracker domains' });
    await item.getByText(en.lists.options).click();
    await item.getByText(en.lists.actions.allow, { exact: true }).click();
    await item.getByText('allows its domains, exact names only').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await item.getByText('exact names only', { exact: true }).waitFor();
    assert.deepEqual(service.callsOf('lists.change'), [
      { name: 'Tracker domains', action: 'allow' },
      { name: 'Tracker domains', action: 'block', match: 'exact', allowWide: false },
    ]);
  });

  test('catalogue: narrowed by purpose and word; one click adds, undo takes away', async () => {
    const { page, service } = await lab().open({ path: '#/lists/add' });
    await page.getByText('Telemetry of televisions.').waitFor();
    await page.getByText(en.lists.catalogue.sizes.huge).waitFor();
    await page.getByText('Added', { exact: true }).waitFor();
    await page.getByLabel(en.lists.catalogue.category).selectOption('Gambling');
    await page.getByText('Telemetry of televisions.').waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Add the list No gambling' }).click();
    await eventually(() => {
      assert.deepEqual(service.callsOf('catalogue.add'), [{ id: 'dice' }]);
    });
    await page.getByText('Added', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Add the list No gambling' }).waitFor();
    await page.getByLabel(en.lists.catalogue.search).fill('nothing has this');
    await page.getByText(en.lists.catalogue.noMatch).waitFor();
    await page.getByRole('button', { name: 'Show all' }).click();
    await page.getByText('Telemetry of televisions.').waitFor();
  });
});
