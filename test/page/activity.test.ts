/** The Activity page in a real browser: figures, live rows, the switch, one-click rules. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { QueryEvent } from '../../main/contract/query-event.ts';
import { en } from '../../main/texts/en/index.ts';
import { fakeQuery, fakeUpdate } from './fake-data.ts';
import type { FakeService } from './fake-service.ts';
import {
  eventually,
  styleOf,
  describeWindow,
  type WindowLab,
  type OpenWindow,
} from './window-under-test.ts';

const rows = 'tbody tr';

/** Opens the page with an empty log and waits until it follows the live topic. */
async function openActivity(lab: WindowLab, prepare?: (service: FakeService) => void) {
  const opened = await lab.open({
    prepare(service) {
      service.methods.log = [];
      prepare?.(service);
    },
  });
  await eventually(() => {
    assert.equal(opened.service.subscribers, 1);
  });
  await opened.page.getByText('No queries yet').waitFor();
  return opened;
}

function emit({ service }: OpenWindow, events: QueryEvent[], leftOut = 0): void {
  service.emit(fakeUpdate(service.methods.status, events, leftOut, Date.now()));
}

/** Query n is blocked when n % 4 is 1: n = 1 on a list, n = 5 by a rule. */
function queries(first: number, count: number): QueryEvent[] {
  return Array.from({ length: count }, (_, index) => fakeQuery(first + index, Date.now()));
}

describeWindow('activity page', (lab) => {
  test('shows live rows, newest first, blocked ones by word and colour', async () => {
    const opened = await openActivity(lab());
    const { page } = opened;
    emit(opened, queries(0, 3));
    await page.locator(rows).nth(2).waitFor();
    assert.match(
      await page.locator(rows).nth(0).innerText(),
      /time.example.net|assets.example.net/,
    );
    const blocked = page.locator(rows).nth(1);
    assert.match(
      await blocked.innerText(),
      /stats\.g\.doubleclick\.net[^]*Blocked[^]*StevenBlack: doubleclick\.net/,
    );
    assert.match((await blocked.getAttribute('class')) ?? '', /\bblocked\b/);
    const colors = [
      await styleOf(page, `${rows}:nth-child(1)`, 'background-color'),
      await styleOf(page, `${rows}:nth-child(2)`, 'background-color'),
    ];
    assert.notEqual(colors[0], colors[1]);
  });

  test('starts with the newest stored rows', async () => {
    const { page } = await lab().open();
    await eventually(async () => {
      assert.equal(await page.locator(rows).count(), 60);
    });
  });

  test('shows exact totals, latency and dropped log lines', async () => {
    const opened = await openActivity(lab());
    const { page, service } = opened;
    Object.assign(service.methods.status.totals, {
      queries: 1_000,
      blocked: 250,
      cached: 500,
      logDropped: 3,
      logged: 997,
    });
    emit(opened, []);
    const figures = page.getByRole('region', { name: en.activity.sinceStart });
    await eventually(async () => {
      const text = await figures.innerText();
      assert.match(text, /Queries\s+1,000/);
      assert.match(text, /Blocked\s+250\s+25% of queries/);
      assert.match(text, /From cache\s+500/);
      assert.match(text, /Dropped log lines\s+3\s+997 logged/);
      assert.match(text, /Answered locally\s+41 µs\s+p50, p99 180 µs/);
      assert.match(text, /Answered upstream\s+14 ms\s+p50, p99 96 ms/);
    });
    await page.getByText('3 log lines were dropped').waitFor();
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await page.getByText('3 log lines were dropped').waitFor({ state: 'detached' });
    service.methods.status.totals.logDropped = 4;
    emit(opened, []);
    await page.getByText('4 log lines were dropped').waitFor();
  });

  test('pauses for some minutes with a running countdown, and resumes', async () => {
    const { page, service } = await openActivity(lab());
    await page.getByRole('heading', { name: 'Protection is on' }).waitFor();
    await page.getByRole('button', { name: '15 min' }).click();
    const heading = page.getByRole('heading', {
      name: /Paused until \d\d:\d\d, (15:00|14:5\d) left/,
    });
    await heading.waitFor();
    assert.deepEqual(service.callsOf('pause'), [{ minutes: 15 }]);
    const first = await heading.innerText();
    await eventually(async () => {
      assert.notEqual(await heading.innerText(), first);
    });
    assert.equal(
      await page.getByRole('switch', { name: 'Protection' }).getAttribute('aria-checked'),
      'false',
    );
    await page.getByRole('button', { name: 'Resume now' }).click();
    await page.getByRole('heading', { name: 'Protection is on' }).waitFor();
    assert.equal(service.callsOf('resume').length, 1);
  });

  test('switches off with an explanation, and on again', async () => {
    const { page, service } = await openActivity(lab());
    await page.getByRole('switch', { name: 'Protection' }).click();
    await page.getByRole('heading', { name: 'Protection is off' }).waitFor();
    await page.getByText(en.activity.stillResolves).waitFor();
    assert.deepEqual(service.callsOf('pause'), [{}]);
    await page.getByRole('switch', { name: 'Protection' }).click();
    await page.getByRole('heading', { name: 'Protection is on' }).waitFor();
  });

  test('shows a pause that was made elsewhere', async () => {
    const opened = await openActivity(lab());
    opened.service.methods.status.protection = {
      state: 'paused',
      resumesAtMs: Date.now() + 300_000,
    };
    emit(opened, []);
    await opened.page.getByRole('heading', { name: /Paused until/ }).waitFor();
  });

  test('blocks a name with one click, and takes it back', async () => {
    const opened = await openActivity(lab());
    const { page, service } = opened;
    emit(opened, [{ ...fakeQuery(2, Date.now()), name: 'www.shop.example' }]);
    await page.getByRole('button', { name: 'Block www.shop.example' }).click();
    await page.getByText('www.shop.example is now blocked.').waitFor();
    assert.ok(service.methods.rules.includes('||www.shop.example^'));
    await page.getByRole('button', { name: 'Allow www.shop.example' }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('button', { name: 'Block www.shop.example' }).waitFor();
    assert.ok(!service.methods.rules.includes('||www.shop.example^'));
  });

  test('allows a blocked name; its own opposite rule goes, and comes back with undo', async () => {
    const opened = await openActivity(lab());
    const { page, service } = opened;
    emit(opened, [{ ...fakeQuery(5, Date.now()), name: 'ads.example.com' }]);
    await page.getByRole('button', { name: 'Allow ads.example.com' }).click();
    await page.getByText('ads.example.com is now allowed.').waitFor();
    assert.deepEqual(service.methods.rules, ['@@||good.example^', '@@||ads.example.com^']);
    await page.getByRole('button', { name: 'Undo' }).click();
    await eventually(() => {
      assert.deepEqual(service.methods.rules, ['@@||good.example^', '||ads.example.com^']);
    });
  });

  test('offers no rule for names without a dot or that cannot be read', async () => {
    const opened = await openActivity(lab());
    emit(
      opened,
      ['localhost', '.', ''].map((name) => ({ ...fakeQuery(2, Date.now()), name })),
    );
    await opened.page.getByText('(unreadable)').waitFor();
    const deciding = opened.page.getByRole('button', { name: /^(Block|Allow) / });
    assert.equal(await deciding.count(), 0);
  });

  test('holds still by button, and under the pointer', async () => {
    const opened = await openActivity(lab());
    const { page } = opened;
    emit(opened, queries(0, 4));
    await page.locator(rows).nth(3).waitFor();
    await page.getByRole('button', { name: en.activity.hold, exact: true }).click();
    emit(opened, queries(4, 5));
    await page.getByText(en.activity.heldWaiting(5)).waitFor();
    assert.equal(await page.locator(rows).count(), 4);
    await page.getByRole('button', { name: en.activity.follow, exact: true }).click();
    await eventually(async () => {
      assert.equal(await page.locator(rows).count(), 9);
    });
    await page.locator(rows).nth(1).hover();
    emit(opened, queries(9, 2));
    await page.getByText(en.activity.heldTouched(2)).waitFor();
    assert.equal(await page.locator(rows).count(), 9);
    await page.mouse.move(2, 2);
    await eventually(async () => {
      assert.equal(await page.locator(rows).count(), 11);
    });
  });

  test('filters by text and by "blocked only"', async () => {
    const opened = await openActivity(lab());
    const { page } = opened;
    emit(opened, queries(0, 40));
    await page.locator(rows).nth(39).waitFor();
    await page.getByLabel('Blocked only').check();
    await eventually(async () => {
      assert.equal(await page.locator(rows).count(), 10);
    });
    await page.getByRole('searchbox').fill('DOUBLECLICK');
    await eventually(async () => {
      assert.equal(await page.locator(rows).count(), 3);
    });
    await page.getByRole('searchbox').fill('nowhere');
    await page.getByText('No recent query matches').waitFor();
  });

  test('says how many rows were left out', async () => {
    const opened = await openActivity(lab());
    emit(opened, queries(0, 2), 900);
    emit(opened, queries(2, 2), 334);
    await opened.page.getByText('1,234 rows skipped').waitFor();
  });

  test('stays bounded under a flood', async () => {
    const opened = await openActivity(lab());
    const { page } = opened;
    const devtools = await page.context().newCDPSession(page);
    const measure = async () => {
      await devtools.send('HeapProfiler.collectGarbage');
      const { usedSize } = await devtools.send('Runtime.getHeapUsage');
      return {
        usedSize,
        nodes: await page.evaluate<number>('document.querySelectorAll("*").length'),
      };
    };
    const flood = async (first: number, updates: number) => {
      for (let n = 0; n < updates; n++) emit(opened, queries(first + n * 100, 100), 50);
      const leftOut = ((first / 100 + updates) * 50).toLocaleString('en-US');
      await page.getByText(`${leftOut} rows skipped`).waitFor();
      assert.equal(await page.locator(rows).count(), 60);
      return measure();
    };
    const early = await flood(0, 40);
    const late = await flood(4_000, 160);
    assert.equal(late.nodes, early.nodes);
    assert.ok(late.nodes < 4_000, `${String(late.nodes)} elements`);
    await page.getByRole('button', { name: en.activity.hold, exact: true }).click();
    await eventually(async () => {
      assert.equal(await page.locator(rows).count(), 200);
    });
    const grownMiB = (late.usedSize - early.usedSize) / 1024 ** 2;
    assert.ok(grownMiB < 3, `the heap grew by ${grownMiB.toFixed(1)} MiB`);
  });

  test('draws the chart, and another range asks for other steps', async () => {
    const { page, service } = await openActivity(lab());
    const chart = page.getByRole('img', { name: /queries in the last hour/ });
    await chart.waitFor();
    await page.getByText('24 hours').click();
    await page.getByRole('img', { name: /queries in the last 24 hours/ }).waitFor();
    const asked = service
      .callsOf('statistics')
      .map((input) => (input as { stepMinutes: number }).stepMinutes);
    assert.ok(asked.includes(1) && asked.includes(15), String(asked));
    const painted = await page.evaluate<number>(`(() => {
      const canvas = document.querySelector('canvas');
      const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
      return new Set(new Uint32Array(pixels.buffer)).size;
    })()`);
    assert.ok(painted > 3, `${String(painted)} colours in the chart`);
  });

  test('follows the live topic only while it is shown', async () => {
    const { page, service } = await openActivity(lab());
    await page.getByRole('link', { name: 'Lists' }).click();
    await eventually(() => {
      assert.equal(service.subscribers, 0);
    });
    await page.getByRole('link', { name: 'Activity' }).click();
    await eventually(() => {
      assert.equal(service.subscribers, 1);
    });
  });
});
