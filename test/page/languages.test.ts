/** Both languages on every page: what is said, how wide it is, and that a choice holds. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Page } from 'playwright-core';
import { CATALOGUE } from '../../main/texts/catalogue.ts';
import type { Texts } from '../../main/texts/en/index.ts';
import { LANGUAGES, type Language } from '../../main/texts/language/language.ts';
import { describeWindow, eventually } from './window-under-test.ts';

const { en, de } = CATALOGUE;
/** What a window says. */
const inWindow = (texts: Texts): object =>
  Object.fromEntries(Object.entries(texts).filter(([part]) => !['cli', 'tray'].includes(part)));
/** What comes from the fake service, which reads like sentences of the catalogue. */
const given = [
  'Tracker domains',
  ...['No games at night', 'Children', "Ana's laptop"],
  'Allow ports from 53 to every program of this machine',
];
const paths = [
  ...['activity', 'log', 'lists', 'lists/add', 'rules', 'policies', 'policies/services'],
  ...['policies/search', 'policies/names', 'clients', 'clients/groups', 'network', 'health'],
  ...['backup'],
];

/** Stands for every parameter of a sentence. */
const parameter = 2;

/** Every sentence of a language with a pattern of it, by its key. */
function sentencesOf(texts: object, path = ''): Map<string, string> {
  const found = new Map<string, string>();
  for (const [key, value] of Object.entries(texts)) {
    const at = `${path}.${key}`;
    if (typeof value === 'string') found.set(at, value);
    else if (typeof value === 'function') {
      const say = value as (...parameters: number[]) => string;
      found.set(at, say(parameter, parameter, parameter, parameter));
    } else {
      for (const [inner, text] of sentencesOf(value as object, at)) found.set(inner, text);
    }
  }
  return found;
}

/** Patterns of the English sentences that no German one is the same as. */
const englishOnly: readonly RegExp[] = (() => {
  const german = new Set(sentencesOf(inWindow(de)).values());
  return [...sentencesOf(inWindow(en)).values()]
    .filter((text) => !german.has(text) && text.replace(/[^a-z]/gi, '').length > 3)
    .map((text) => {
      const escaped = text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
      return new RegExp(`^${escaped.replaceAll(String(parameter), '.+')}$`);
    });
})();

/** What can be read or heard on the page, outside of what the service says and of code. */
const readable = `[...document.querySelectorAll('body *')].flatMap((element) => {
  if (!element.checkVisibility()) return [];
  const texts = [...element.childNodes].filter((node) => node.nodeType === Node.TEXT_NODE);
  return [
    ...texts.map((node) => node.data),
    ...['aria-label', 'title', 'placeholder'].map((name) => element.getAttribute(name) ?? ''),
  ].map((text) => text.trim().replace(/\\s+/g, ' ')).filter((text) => text !== '');
})`;

async function showPage(page: Page, url: string, path: string): Promise<void> {
  await page.goto(`${url}#/${path}`);
  await page.getByRole('heading', { level: 1 }).waitFor();
  await eventually(async () => {
    const waiting = await page.getByText(/^(Loading…|Wird geladen …)$/).count();
    assert.equal(waiting, 0, path);
  });
}

async function choose(page: Page, language: Language): Promise<void> {
  await page.locator('select', { has: page.locator('option[value=de]') }).selectOption(language);
  await page.locator(`html[lang=${language}]`).waitFor();
}

describeWindow('languages', (lab) => {
  for (const language of LANGUAGES) {
    for (const width of [360, 1_280]) {
      test(`${language}, ${String(width)} pixels: nothing is wider than the window`, async () => {
        const { page, service } = await lab().open({ width, height: 800 });
        await choose(page, language);
        for (const path of paths) {
          await showPage(page, service.url, path);
          const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
          assert.ok(wide <= width, `${path} is ${String(wide)} pixels wide`);
          assert.equal(await page.locator('html').getAttribute('lang'), language);
        }
      });
    }
  }

  for (const path of paths) {
    test(`German: ${path} has no sentence of the English catalogue`, async () => {
      const { page, service } = await lab().open({ width: 1_280 });
      await choose(page, 'de');
      await showPage(page, service.url, path);
      const texts = await page.evaluate<string[]>(readable);
      assert.ok(texts.includes(de.shell.pages.activity));
      const english = texts.filter(
        (text) => !given.includes(text) && englishOnly.some((pattern) => pattern.test(text)),
      );
      assert.deepEqual([...new Set(english)], []);
    });
  }

  test('a choice shows at once, goes before the setting, and survives a reload', async () => {
    const { page, service } = await lab().open({
      path: '#/log',
      prepare: ({ methods }) => {
        methods.status.language = 'de';
      },
    });
    const title = (texts: typeof en): Promise<void> =>
      page.getByText(texts.log.lead, { exact: true }).waitFor();
    await title(de);
    await page.evaluate('window.isSamePage = true');
    await choose(page, 'en');
    await title(en);
    assert.equal(await page.evaluate('window.isSamePage'), true);
    assert.match(await page.title(), new RegExp(en.shell.pages.log));
    await page.reload();
    await title(en);
    assert.equal(await page.locator('html').getAttribute('lang'), 'en');
    const asked = service.callsOf('status').length;
    await eventually(() => {
      assert.ok(service.callsOf('status').length > asked);
    });
    await title(en);
  });
});
