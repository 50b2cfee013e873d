/** What the window does when the service is slow, gone, guarded or empty. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { en } from '../../main/texts/en/index.ts';
import { fakeQuery, fakeUpdate } from './fake-data.ts';
import { describeWindow, eventually } from './window-under-test.ts';

describeWindow('connection', (lab) => {
  test('a lost connection is told, and everything goes on when it is back', async () => {
    const { page, service, faults } = await lab().open();
    await page.getByRole('heading', { name: 'Protection is on' }).waitFor();
    const { port } = service;
    await service.close();
    await page.getByText(en.shell.connectionLost).waitFor();
    await page.getByText('No connection').waitFor();
    await page.getByText(en.activity.lastState.on).waitFor();
    await service.listen(port);
    await page.getByText(en.shell.connectionLost).waitFor({ state: 'detached' });
    await eventually(() => {
      assert.equal(service.subscribers, 1);
    });
    service.emit(
      fakeUpdate(
        service.methods.status,
        [{ ...fakeQuery(2, Date.now()), name: 'back.example' }],
        0,
        Date.now(),
      ),
    );
    await page.getByText('back.example').waitFor();
    for (const fault of faults.splice(0))
      assert.match(fault, /^Failed to load resource: net::ERR_/);
  });

  test('a page without data says so and offers another try', async () => {
    const { page, service, faults } = await lab().open();
    const { port } = service;
    await page.getByRole('heading', { name: 'Protection is on' }).waitFor();
    await service.close();
    await page.getByRole('link', { name: 'Rules' }).click();
    await page.getByText('No connection to Sluice').waitFor();
    await service.listen(port);
    await page.getByRole('button', { name: 'Try again' }).click();
    await page.getByRole('cell', { name: '||ads.example.com^', exact: true }).waitFor();
    for (const fault of faults.splice(0))
      assert.match(fault, /^Failed to load resource: net::ERR_/);
  });

  test('without the token the window asks for it', async () => {
    const { page, faults } = await lab().open({ token: 'open sesame' });
    await page.getByLabel('Access token').fill('open sesame');
    await page.getByRole('button', { name: en.shell.continue, exact: true }).click();
    await page.getByRole('heading', { name: 'Protection is on' }).waitFor();
    for (const fault of faults.splice(0)) assert.match(fault, /^Failed to load resource: [^]*401/);
  });

  test('a token in the address is taken, sent, and gone from the address', async () => {
    const { page, service } = await lab().open({ token: 'a+b c', path: '#token=a%2Bb%20c' });
    await page.getByRole('heading', { name: 'Protection is on' }).waitFor();
    await eventually(() => {
      assert.equal(service.subscribers, 1);
    });
    assert.equal(page.url(), service.url);
  });

  test('while answers are awaited the page says what it waits for', async () => {
    const gate = Promise.withResolvers<undefined>();
    const { page } = await lab().open({
      path: '#/lists',
      prepare({ methods }) {
        methods.gate = gate.promise;
      },
    });
    await page.getByText(en.shell.loading).first().waitFor();
    gate.resolve(undefined);
    await page.getByRole('heading', { name: 'StevenBlack' }).waitFor();
  });

  test('empty pages tell what to do next', async () => {
    const { page, service } = await lab().open({
      prepare({ methods }) {
        methods.log = [];
        methods.lists = [];
        methods.rules = [];
        methods.filters.policies = [];
        methods.filters.records = [];
      },
    });
    await page.getByText(en.activity.pointHint('127.0.0.1:53')).waitFor();
    await page.goto(`${service.url}#/log`);
    await page.getByText(en.log.nothing).waitFor();
    await page.goto(`${service.url}#/lists`);
    await page.getByRole('link', { name: 'Choose a well-known list' }).waitFor();
    await page.goto(`${service.url}#/rules`);
    await page.getByText(en.rules.none).waitFor();
    await page.goto(`${service.url}#/policies`);
    await page.getByText(en.policies.noneHint).waitFor();
    await page.goto(`${service.url}#/policies/names`);
    await page.getByText(en.services.records.noneHint).waitFor();
  });

  test('inside the desktop app it talks through the bridge, and no HTTP call is made', async () => {
    const { page, service } = await lab().open();
    await page.addInitScript(`
      const protection = { state: 'paused', resumesAtMs: Date.now() + 60_000 };
      window.calls = [];
      window.sluice = {
        call: async (name, input) => {
          window.calls.push(name);
          if (name === 'resume') return { ok: false, error: { code: 'INTERNAL', message: 'cannot now' } };
          return { ok: true, value: name === 'status' ? window.statusOfTest : { rows: [], points: [], topBlocked: [] } };
        },
        subscribe: (onUpdate) => {
          window.push = onUpdate;
          return () => { window.push = null; };
        },
      };
      window.statusOfTest = ${JSON.stringify({ ...service.methods.status })};
      window.statusOfTest.protection = protection;`);
    await page.reload();
    service.calls.length = 0;
    await page.getByRole('heading', { name: /Paused until/ }).waitFor();
    await page.getByRole('button', { name: 'Resume now' }).click();
    await page.getByText('Cannot now.').waitFor();
    const update = fakeUpdate(
      service.methods.status,
      [{ ...fakeQuery(2, Date.now()), name: 'bridge.example' }],
      0,
      Date.now(),
    );
    await page.evaluate(`window.push(${JSON.stringify(update)})`);
    await page.getByText('bridge.example').waitFor();
    assert.deepEqual(service.calls, []);
    assert.equal(service.subscribers, 0);
  });

  test('the watch over the strict policy notices a violation', async () => {
    const { page, faults } = await lab().open();
    await page.evaluate(
      `document.body.insertAdjacentHTML('beforeend', '<p style="color: red">no</p>')`,
    );
    await eventually(() => {
      assert.match(faults.join('\n'), /policy violated: style-src/);
    });
    faults.length = 0;
  });
});
