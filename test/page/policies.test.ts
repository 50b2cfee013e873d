/** The page Policies in a real browser: policies, services, safe search, bypass, local names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { en } from '../../main/texts/en/index.ts';
import { describeWindow, eventually } from './window-under-test.ts';

const refused = /^Failed to load resource: [^,]*400[^,]*$/;

describeWindow('policies', (lab) => {
  test('policies stand in the order in which they decide, in words', async () => {
    const { page } = await lab().open({ path: '#/policies' });
    await page.locator('tbody tr').nth(2).waitFor();
    const [first = '', second = '', third = ''] = await page.locator('tbody tr').allInnerTexts();
    assert.match(first, /Bank always works\s+bank\.example\s+Allow\s+Everyone\s+Always\s+500/);
    assert.match(second, /Old intranet name[^]+Redirect\s+to intranet\.new\.example/);
    assert.match(third, /play\.example and 1 more\s+Block\s+Children\s+Mon–Thu, Sun\s+21:00–06:30/);
    assert.match(third, /active now/);
  });

  test('a policy is switched off, changed, removed and put back', async () => {
    const { page, service } = await lab().open({ path: '#/policies' });
    await page.getByRole('switch', { name: 'Use the policy Bank always works' }).click();
    await eventually(() => {
      const [sent] = service.callsOf('policies.put') as { policy: { enabled: boolean } }[];
      assert.equal(sent?.policy.enabled, false);
    });
    await page.getByRole('button', { name: en.policies.changeOne('No games at night') }).click();
    const dialog = page.getByRole('dialog', { name: en.policies.edit });
    await dialog.getByLabel('Name', { exact: true }).fill('No games');
    await dialog.getByText('Fri', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Save' }).click();
    await dialog.waitFor({ state: 'detached' });
    const sent = service.callsOf('policies.put').at(-1) as Record<string, unknown>;
    assert.equal(sent['was'], 'No games at night');
    const changed = service.methods.filters.policies.find(({ name }) => name === 'No games');
    assert.deepEqual([...(changed?.schedule?.days ?? [])].sort(), [
      ...['fri', 'mon', 'sun', 'thu', 'tue', 'wed'],
    ]);
    assert.deepEqual(changed?.domains, ['games.example', 'play.example', '*.arcade.example']);
    await page.getByRole('button', { name: 'Remove No games' }).click();
    await page.getByText('No games', { exact: true }).waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('No games', { exact: true }).waitFor();
  });

  test('a redirect for some clients at some times is written as a whole', async () => {
    const { page, service } = await lab().open({ path: '#/policies' });
    await page.getByRole('button', { name: 'New policy' }).click();
    const dialog = page.getByRole('dialog', { name: 'New policy' });
    await dialog.getByLabel('Name', { exact: true }).fill('Printer');
    await dialog.getByLabel('Priority').fill('300');
    await dialog.getByText('Redirect', { exact: true }).click();
    await dialog.getByLabel('Redirect to').fill('192.168.0.10, fd00::10');
    await dialog
      .getByLabel(en.policies.domains, { exact: true })
      .fill('printer.example\n*.Old.example');
    await dialog.getByText('Regular expressions').click();
    await dialog.getByLabel('Patterns').fill('^print\\d+\\.');
    await dialog.getByText('Only some', { exact: true }).click();
    await dialog.getByLabel('Children').check();
    await dialog.getByLabel('Addresses and networks').fill('192.168.0.0/24');
    await dialog.getByText(en.policies.someTimes).click();
    await dialog.getByText('Sat', { exact: true }).click();
    await dialog.getByLabel('From').fill('08:00');
    await dialog.getByLabel('To', { exact: true }).fill('18:00');
    await dialog.getByLabel('Time zone').fill('Europe/Berlin');
    await dialog.getByRole('button', { name: 'Add policy' }).click();
    await dialog.waitFor({ state: 'detached' });
    assert.deepEqual(service.callsOf('policies.put'), [
      {
        policy: {
          ...{ name: 'Printer', enabled: true, action: 'redirect', priority: 300 },
          ...{ domains: ['printer.example', '*.old.example'], regex: ['^print\\d+\\.'] },
          clients: ['Children', '192.168.0.0/24'],
          schedule: {
            days: ['mon', 'tue', 'wed', 'thu', 'fri', 'sun'],
            ...{ from: '08:00', to: '18:00', timeZone: 'Europe/Berlin' },
          },
          redirect: { addresses: ['192.168.0.10', 'fd00::10'], name: '' },
        },
      },
    ]);
  });

  test('what the service refuses stands beside its field and has the focus', async () => {
    const { page, faults } = await lab().open({ path: '#/policies' });
    await page.getByRole('button', { name: 'New policy' }).click();
    const dialog = page.getByRole('dialog', { name: 'New policy' });
    await dialog.getByLabel('Name', { exact: true }).fill('Mine');
    await dialog.getByRole('button', { name: 'Add policy' }).click();
    await dialog.getByText('A policy needs domains or a regex.').waitFor();
    const names = dialog.getByLabel(en.policies.domains, { exact: true });
    await names.fill('example');
    await dialog.getByRole('button', { name: 'Add policy' }).click();
    await dialog.getByText('"example" is not allowed, write a domain name such as').waitFor();
    assert.equal(await names.getAttribute('aria-invalid'), 'true');
    await eventually(async () => {
      assert.equal(await page.evaluate('document.activeElement.tagName'), 'TEXTAREA');
    });
    await names.fill('x.example');
    await dialog.getByText('Only some', { exact: true }).click();
    await dialog.getByRole('button', { name: 'Add policy' }).click();
    await dialog.getByText(/^Choose at least one client or group/).waitFor();
    const networks = dialog.getByLabel('Addresses and networks');
    assert.equal(await networks.getAttribute('aria-invalid'), 'true');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    assert.equal(
      await page.evaluate('document.activeElement.innerText'),
      'New policy',
      'the focus is where it was',
    );
    for (const fault of faults.splice(0)) assert.match(fault, refused);
  });

  test('services are blocked one by one, in quick succession, and as a whole category', async () => {
    const { page, service } = await lab().open({ path: '#/policies/services' });
    await page.getByText('1 of 5 blocked').waitFor();
    await page.getByLabel('Facebook').click();
    await page.getByLabel('Reddit').click();
    await page.getByText('3 of 5 blocked').waitFor();
    await eventually(() => {
      assert.deepEqual(service.methods.filters.services.services, [
        ...['tiktok', 'facebook', 'reddit'],
      ]);
    });
    await page.getByRole('button', { name: en.services.blockAllOf('Games') }).click();
    await page.getByText('2 of 2 blocked').waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('2 of 2 blocked').waitFor({ state: 'detached' });
    await page.getByLabel('Find a service').fill('steamcdn');
    await page.getByLabel('Facebook').waitFor({ state: 'detached' });
    await page.getByLabel('Steam').waitFor();
  });

  test('safe search by engine, how strict, and ways past the filter', async () => {
    const { page, service } = await lab().open({ path: '#/policies/search' });
    await page.getByRole('switch', { name: en.services.safeSearchOf('Bing') }).click();
    await page.getByText('Strict', { exact: true }).click();
    await page.getByRole('switch', { name: en.services.bypassSwitch }).click();
    await page.getByText('Blocked', { exact: true }).waitFor();
    const { safeSearch, bypass } = service.methods.filters.services;
    assert.deepEqual(safeSearch.engines, ['google', 'youtube', 'duckduckgo']);
    assert.equal(safeSearch.youtube, 'strict');
    assert.equal(bypass.block, true);
    await page.getByRole('switch', { name: 'Safe search', exact: true }).click();
    await eventually(() => {
      assert.equal(service.methods.filters.services.safeSearch.enabled, false);
    });
  });

  test('local names are added, refused with an example, removed and put back', async () => {
    const { page, service, faults } = await lab().open({ path: '#/policies/names' });
    await page.getByLabel('Name', { exact: true }).fill('tv.home.example');
    await page.getByLabel('Value: an IPv4 address').fill('my tv');
    await page.getByRole('button', { name: 'Add record' }).click();
    await page.getByText('write an IPv4 address such as 192.168.0.10.').waitFor();
    await page.getByLabel('Value: an IPv4 address').fill('192.168.1.77');
    await page.getByRole('button', { name: 'Add record' }).click();
    await page.getByText('tv.home.example', { exact: true }).waitFor();
    assert.match(faults.splice(0).join(), refused);
    await page.getByRole('button', { name: 'Remove CNAME of *.lab.home.example' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => {
      assert.deepEqual(service.methods.filters.records.map(({ name }) => name).sort(), [
        ...['*.lab.home.example', 'nas.home.example', 'tv.home.example'],
      ]);
    });
  });
});
