/** Log, Rules, Network and Health in a real browser; and all pages by keyboard, narrow and dark. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { en } from '../../main/texts/en/index.ts';
import { fakeUpdate } from './fake-data.ts';
import { describeWindow, eventually, styleOf } from './window-under-test.ts';

const rows = 'tbody tr';
/** What each page, and each part of one, shows once its data has come. */
const settled = {
  activity: 'canvas',
  log: rows,
  lists: 'summary',
  'lists/add': 'text=Smart TV',
  rules: rows,
  policies: 'text=Bank always works',
  'policies/services': 'text=Mastodon',
  'policies/search': 'text=DuckDuckGo',
  'policies/names': 'text=nas.home.example',
  clients: 'text=device_gameconsole',
  'clients/groups': 'text=filtering off',
  network: rows,
  health: rows,
  backup: `text=${en.backup.saveLead}`,
} as const;
const paths = Object.keys(settled) as (keyof typeof settled)[];

describeWindow('pages', (lab) => {
  test('log: searches by text, client, outcome and time', async () => {
    const { page, service } = await lab().open({ path: '#/log' });
    await page.locator(rows).nth(99).waitFor();
    await page.getByLabel(en.log.partOfName).fill('Telemetry');
    await page.getByLabel(en.log.client).fill('127.');
    await page.getByLabel(en.log.result).selectOption(en.queries.outcomes.blocked);
    await page.getByRole('combobox', { name: /^Time/ }).selectOption(en.log.periods.hour);
    await page.getByRole('button', { name: en.log.start }).click();
    await eventually(async () => {
      const texts = await page.locator(rows).allInnerTexts();
      assert.ok(texts.length > 0 && texts.every((text) => text.includes('telemetry')), texts[0]);
    });
    const last = service.callsOf('queries.search').at(-1) as Record<string, unknown>;
    assert.equal(last['text'], 'telemetry');
    assert.equal(last['client'], '127.');
    assert.equal(last['outcome'], 'blocked');
    assert.ok(Math.abs(Number(last['sinceMs']) - (Date.now() - 3_600_000)) < 60_000);
    await page.getByLabel(en.log.partOfName).fill('not there');
    await page.getByText(en.log.noMatch).waitFor();
    await page.getByRole('button', { name: en.log.showAll }).click();
    await page.locator(rows).nth(99).waitFor();
  });

  test('log: pages to older rows and back, one page at a time', async () => {
    const { page, service } = await lab().open({ path: '#/log' });
    await page.getByText(en.log.page(1)).first().waitFor();
    await page.locator(rows).nth(99).waitFor();
    for (const number of [2, 3, 4]) {
      await page.getByRole('button', { name: en.log.older }).first().click();
      await page.getByText(en.log.page(number)).first().waitFor();
    }
    assert.equal(await page.locator(rows).count(), 50);
    const older = page.getByRole('button', { name: en.log.older }).first();
    assert.equal(await older.getAttribute('aria-disabled'), 'true');
    const before = service
      .callsOf('queries.search')
      .map((input) => (input as { beforeId?: number }).beforeId);
    assert.deepEqual(before.slice(-3), [251, 151, 51]);
    await page.getByRole('button', { name: en.log.newer }).first().click();
    await page.getByText(en.log.page(3)).first().waitFor();
  });

  test('log: a named client stands with name and address, a row of another day with its day', async () => {
    const { page } = await lab().open({
      path: '#/log',
      prepare(service) {
        service.methods.log = service.methods.log.map((row, index) => ({
          ...row,
          timeMs: Date.now() - (index % 2) * 3 * 86_400_000,
        }));
      },
    });
    await page.locator(rows).nth(99).waitFor();
    const cells = await page.locator(`${rows} .time`).allInnerTexts();
    assert.ok(
      cells.some((text) => /^\d\d:\d\d:\d\d$/.test(text)),
      cells[0],
    );
    assert.ok(
      cells.some((text) => /\d.*, \d\d:\d\d:\d\d$/.test(text)),
      cells[0],
    );
    const clients = await page.locator(`${rows} .client`).allInnerTexts();
    assert.ok(clients.some((text) => /^Tablet\s+192\.168\.1\.24$/.test(text.trim())));
    assert.ok(clients.some((text) => text.trim() === '127.0.0.1'));
  });

  test('log: tells when a search did not read everything', async () => {
    const { page } = await lab().open({
      path: '#/log',
      prepare(service) {
        service.methods.isIncomplete = true;
      },
    });
    await page.getByText(en.log.incomplete).waitFor();
  });

  test('rules: adds a name as a rule, tells what is wrong with another, removes with undo', async () => {
    const { page, service, faults } = await lab().open({ path: '#/rules' });
    const field = page.getByLabel(en.rules.nameOrRule);
    await field.fill('Shop.Example.');
    await page.getByText('Allow', { exact: true }).click();
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.getByRole('cell', { name: '@@||shop.example^', exact: true }).waitFor();
    await field.fill('||no good');
    await page.getByRole('button', { name: 'Add rule' }).click();
    await page.getByText('Cannot read the rule "||no good": write ||name^ or @@||name^.').waitFor();
    assert.equal(await field.getAttribute('aria-invalid'), 'true');
    assert.match(faults.splice(0).join(), /^Failed to load resource: [^,]*400[^,]*$/);
    await page.getByRole('button', { name: 'Remove ||ads.example.com^' }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => {
      assert.ok(service.methods.rules.includes('||ads.example.com^'));
    });
  });

  test('rules: checks a name, and says which rules count and which do not', async () => {
    const { page, service } = await lab().open({ path: '#/rules' });
    await page.getByLabel(en.rules.check.name).fill('stats.g.doubleclick.net');
    await page.getByLabel(en.rules.check.client).fill('10.0.0.7');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page
      .getByText('is blocked because the list "StevenBlack" blocks doubleclick.net.')
      .waitFor();
    await page.getByRole('cell', { name: 'StevenBlack, line 41,233' }).waitFor();
    await page.getByText(en.rules.check.decides, { exact: true }).waitFor();
    assert.equal(await page.getByText(en.rules.check.notApplicable, { exact: true }).count(), 2);
    await page.getByText('it is not in force now').waitFor();
    const [asked] = service.callsOf('check') as Record<string, unknown>[];
    assert.deepEqual(asked, { name: 'stats.g.doubleclick.net', type: 'A', client: '10.0.0.7' });
  });

  test('rules: allows a checked name for ten minutes, shows the time left, and ends it', async () => {
    const { page, service } = await lab().open({ path: '#/rules' });
    await page.getByLabel(en.rules.check.name).fill('stats.g.doubleclick.net');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByRole('button', { name: 'Allow for 10 minutes' }).click();
    await page.getByText('because a temporary rule of yours').waitFor();
    assert.deepEqual(service.callsOf('rules.add'), [
      { rule: '@@||stats.g.doubleclick.net^', minutes: 10 },
    ]);
    await page.getByRole('cell', { name: /^(10:00|9:5\d)$/ }).waitFor();
    await page.getByRole('button', { name: 'Remove @@||stats.g.doubleclick.net^' }).click();
    await eventually(() => {
      assert.deepEqual(service.methods.temporary, []);
    });
  });

  test('rules: shows where a cloaked name leads, and asks for a name on demand', async () => {
    const { page, service } = await lab().open({ path: '#/rules' });
    await page.getByLabel(en.rules.check.name).fill('metrics.shop.example');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('shop.tracker.example', { exact: true }).waitFor();
    await page.getByText('the list "StevenBlack" blocks tracker.example').waitFor();
    await page.getByLabel(en.rules.check.name).fill('shop.example');
    await page.getByRole('button', { name: en.rules.check.resolve }).click();
    await page.getByText('shop.example 300 A 192.0.2.7').waitFor();
    const last = service.callsOf('check').at(-1);
    assert.deepEqual(last, { name: 'shop.example', type: 'A', resolve: true });
  });

  test('log: "Why?" opens the check with name, type and client', async () => {
    const { page, service } = await lab().open({ path: '#/log' });
    const row = service.methods.log[0];
    await page.getByRole('button', { name: /^Why / }).first().click();
    await page.getByRole('heading', { name: 'Check a name' }).waitFor();
    await eventually(() => {
      const [asked] = service.callsOf('check');
      assert.deepEqual(asked, { name: row?.name, type: row?.typeName, client: row?.client });
    });
    assert.equal(await page.getByLabel(en.rules.check.name).inputValue(), row?.name);
  });

  test('rules: ten thousand of them leave the page small', async () => {
    const { page } = await lab().open({
      path: '#/rules',
      prepare({ methods }) {
        methods.rules = Array.from({ length: 10_000 }, (_, n) => `||host-${String(n)}.example^`);
      },
    });
    await page.getByText('200 of 10,000 rules').waitFor();
    assert.equal(await page.locator(rows).count(), 200);
    await page.getByLabel('Filter rules').fill('host-4321.');
    await page.getByText('1 of 10,000 rules').waitFor();
  });

  test('health: reasons, queues, addresses and the line to try', async () => {
    const { page } = await lab().open({
      path: '#/health',
      prepare({ methods: { status } }) {
        status.health = 'degraded';
        status.degradedReasons = ['the log database is read-only'];
        status.listening = ['127.0.0.1:5353'];
        Object.assign(status.queues[0] ?? {}, { dropped: 12 });
      },
    });
    await page.getByText('The log database is read-only.').waitFor();
    await page.getByText('dig @127.0.0.1 -p 5353 example.com').waitFor();
    const queues = page.getByRole('region', { name: 'Queues' }).locator(rows);
    assert.match(await queues.first().innerText(), /Log\s+3\s+4,096\s+12/);
    await page.getByRole('link', { name: 'Lists' }).click();
    await page.getByText(en.shell.attention).waitFor();
  });

  test('health: upstream servers in plain words, and fresh while queries come in', async () => {
    const { page, service } = await lab().open({ path: '#/health' });
    const servers = page.getByRole('region', { name: 'Upstream servers' }).locator(rows);
    await servers.nth(2).waitFor();
    const [up = '', down = '', untried = ''] = await servers.allInnerTexts();
    assert.match(up, /^9\.9\.9\.9\s+not encrypted\s+OK\s+14 ms\s+1,204\s+3$/);
    assert.match(
      down,
      /DNS over TLS\)\s+Not responding\s+Its certificate has expired\.\s+–\s+40\s+28$/,
    );
    assert.match(untried, /Not used yet\s+–\s+0\s+0$/);
    const [first, second] = service.methods.upstreams.upstreams;
    assert.ok(first && second);
    Object.assign(second, { state: 'slow', roundTripUs: 420_000, trouble: '' });
    await eventually(async () => {
      service.emit(fakeUpdate(service.methods.status, [], 0, Date.now()));
      assert.match(await servers.nth(1).innerText(), /Slow\s+420 ms\s+40\s+28$/);
    });
  });

  test('network: the switch, what is covered, a login page, and the way back', async () => {
    const { page, service } = await lab().open({ path: '#/network', provoked: /status of 400/ });
    const whole = page.getByRole('switch', { name: en.network.takeover.switch });
    await page.getByText('Sluice is off').first().waitFor();
    await whole.click();
    await page.getByRole('heading', { name: en.network.takeover.titles.on }).waitFor();
    await eventually(async () => {
      const texts = await page.locator(rows).allInnerTexts();
      assert.deepEqual(
        texts.map((text) => text.split(/\s+/).slice(0, 2).join(' ')),
        ['eth0 yes', 'tun0 no', 'wlan0 yes'],
      );
    });
    await page.getByText(en.network.bypass.bypasses, { exact: true }).waitFor();
    await page.getByRole('button', { name: en.network.takeover.login }).click();
    await page.getByRole('heading', { name: /^Paused for Wi-Fi login 4:5\d left$/ }).waitFor();
    await page.getByRole('button', { name: en.network.takeover.filterAgain }).click();
    assert.equal(await whole.getAttribute('aria-checked'), 'true');
    await page.getByRole('button', { name: en.network.takeover.restore }).click();
    await page.getByText(en.network.takeover.restored).waitFor();
    assert.equal(await whole.getAttribute('aria-checked'), 'false');
    assert.deepEqual(service.callsOf('portal'), [{ open: true }, { open: false }]);
    await page.getByText(en.network.commands).click();
    await page.getByText('sudo sysctl net.ipv4.ip_unprivileged_port_start=1024').waitFor();
    await page.getByRole('button', { name: en.network.run }).click();
    await page.getByText('The question for a password was closed').waitFor();
    assert.deepEqual(service.callsOf('right'), [{ id: 'low-ports', change: 'install' }]);
  });

  test('network: a takeover that fails says why; giving back needs no report', async () => {
    const { page, service } = await lab().open({
      path: '#/network',
      provoked: /status of 400/,
      prepare({ methods }) {
        methods.takeoverFailure = 'owner: nobody owns the resolver of this system';
        methods.networkFailure = 'resolvectl hangs';
      },
    });
    await page.getByText(en.shell.notLoaded).waitFor();
    await page.getByRole('switch').click();
    await page.getByText('Owner: nobody owns the resolver of this system.').waitFor();
    await page.getByRole('button', { name: en.network.takeover.restore }).click();
    await eventually(() => assert.equal(service.callsOf('restore').length, 1));
  });

  test('keyboard alone reaches pages, the switch, choices and row buttons', async () => {
    const { page, service } = await lab().open();
    await page.locator(rows).first().waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    assert.equal(await page.evaluate('document.activeElement.tagName'), 'MAIN');
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate('document.activeElement.role'), 'switch');
    await page.keyboard.press('Space');
    await page.getByRole('heading', { name: 'Protection is off' }).waitFor();
    await page.keyboard.press('Space');
    await page.getByRole('heading', { name: 'Protection is on' }).waitFor();
    assert.equal(service.callsOf('resume').length, 1);
    await page.getByLabel('1 hour', { exact: true }).focus();
    await page.keyboard.press('ArrowRight');
    await page.getByRole('img', { name: /last 24 hours/ }).waitFor();
    await page.getByRole('button', { name: en.activity.hold, exact: true }).focus();
    await page.keyboard.press('Tab');
    assert.match(
      String(await page.evaluate('document.activeElement.ariaLabel')),
      /^(Block|Allow) /,
    );
    await page.getByText(en.activity.heldTouched(0).split('.', 1)[0] ?? '').waitFor();
    assert.equal(
      await page.evaluate('getComputedStyle(document.activeElement).outlineStyle'),
      'solid',
    );
    await page.getByRole('link', { name: 'Rules' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Your rules' }).waitFor();
  });

  for (const scheme of ['light', 'dark'] as const) {
    test(`no page is wider than a window of 420 pixels; ${scheme} colours`, async () => {
      const { page, service } = await lab().open({ width: 420, height: 800, scheme });
      for (const path of paths) {
        await page.goto(`${service.url}#/${path}`);
        await page.getByRole('heading', { level: 1 }).waitFor();
        await page.locator(settled[path]).first().waitFor();
        const width = await page.evaluate<number>('document.documentElement.scrollWidth');
        assert.ok(width <= 420, `${path} is ${String(width)} pixels wide`);
      }
      const ground = await styleOf(page, 'html', 'background-color');
      assert.equal(ground, scheme === 'light' ? 'rgb(244, 246, 247)' : 'rgb(18, 22, 25)');
    });
  }

  test('text stands out enough from its ground in both schemes (WCAG 2.2 §1.4.3)', async () => {
    const { page, service } = await lab().open();
    for (const scheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: scheme });
      for (const path of paths) {
        await page.goto(`${service.url}#/${path}`);
        await page.locator(settled[path]).first().waitFor();
        assert.deepEqual(await page.evaluate(faintTexts), [], `${path}, ${scheme}`);
      }
    }
  });
});

/** Runs in the page: texts whose contrast to the first opaque ground behind them is below 4.5. */
const faintTexts = `(() => {
  const canvas = new OffscreenCanvas(1, 1).getContext('2d', { willReadFrequently: true });
  const rgba = (color) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = color;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = (color) => {
    const [r, g, b] = rgba(color).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor;
      if (rgba(color)[3] === 255) return color;
    }
    return getComputedStyle(document.documentElement).backgroundColor;
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter((n) => n.nodeType === 3 && n.data.trim()).length;
    if (!text || !element.checkVisibility() || element.closest('[aria-disabled=true]')) continue;
    const [high, low] = [light(getComputedStyle(element).color), light(ground(element))]
      .sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) found.push(element.innerText + ': ' + ratio.toFixed(2));
  }
  return found;
})()`;
