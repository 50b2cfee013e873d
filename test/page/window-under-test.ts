/**
 * Builds the window, opens it in Debian's Chromium against a fake service, and watches for anything
 * that a page must not do: console errors, uncaught errors, violations of the strict policy.
 */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { build } from 'vite';
import { findTool, missingTools } from '../support/tools.ts';
import { FakeService } from './fake-service.ts';

const chromiumPath = findTool('chromium') ?? 'chromium';
const stepMs = 50;
const patienceMs = 10_000;

const chromiumFlags = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

export interface OpenOptions {
  readonly path?: string;
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
  readonly token?: string;
  /** What the browser says of refusals that the test provokes; no fault. */
  readonly provoked?: RegExp;
  /** Changes the fake service before the window asks it. */
  readonly prepare?: (service: FakeService) => void;
}

/** A window with the service it talks to. */
export interface OpenWindow {
  readonly page: Page;
  readonly service: FakeService;
  /** What the page did wrong so far. */
  readonly faults: string[];
}

/** One build and one browser for the tests of a file. */
export class WindowLab {
  readonly #directory: string;
  readonly #browser: Browser;
  #opened: OpenWindow[] = [];

  private constructor(directory: string, browser: Browser) {
    this.#directory = directory;
    this.#browser = browser;
  }

  static async start(): Promise<WindowLab> {
    const directory = await mkdtemp(join(tmpdir(), 'sluice-window-'));
    const configFile = fileURLToPath(new URL('../../vite.config.ts', import.meta.url));
    await build({ configFile, logLevel: 'warn', build: { outDir: directory } });
    // Playwright makes a profile folder of its own for each launch, and removes it.
    const browser = await chromium.launch({ executablePath: chromiumPath, args: chromiumFlags });
    return new WindowLab(directory, browser);
  }

  async open(options: OpenOptions = {}): Promise<OpenWindow> {
    const service = await FakeService.start({
      directory: this.#directory,
      token: options.token ?? '',
    });
    options.prepare?.(service);
    const page = await this.#browser.newPage({
      viewport: { width: options.width ?? 1_100, height: options.height ?? 760 },
      colorScheme: options.scheme ?? 'light',
    });
    page.setDefaultTimeout(patienceMs);
    const faults: string[] = [];
    page.on('pageerror', (error) => faults.push(`uncaught: ${error.message}`));
    page.on('console', (message) => {
      const isProvoked = options.provoked?.test(message.text()) === true;
      const isFault = ['error', 'warning'].includes(message.type()) && !isProvoked;
      if (isFault) faults.push(message.text());
    });
    await page.addInitScript(
      `document.addEventListener('securitypolicyviolation', (event) =>
        console.error('policy violated: ' + event.violatedDirective));`,
    );
    const opened = { page, service, faults };
    this.#opened.push(opened);
    await page.goto(service.url + (options.path ?? ''));
    return opened;
  }

  /** Ends the windows of one test and fails when one of them did something wrong. */
  async closeWindows(): Promise<void> {
    const opened = this.#opened;
    this.#opened = [];
    for (const { page, service } of opened) {
      await page.context().close();
      await service.close();
    }
    assert.deepEqual(
      opened.flatMap(({ faults }) => faults),
      [],
    );
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

/** A group of tests with a lab; reported as skipped, with what to install, where it cannot run. */
export function describeWindow(name: string, body: (lab: () => WindowLab) => void): void {
  const missing = missingTools('chromium');
  if (missing !== false) {
    test(name, { skip: missing });
    return;
  }
  describe(name, () => {
    let lab: WindowLab | null = null;
    before(async () => {
      lab = await WindowLab.start();
    });
    afterEach(() => lab?.closeWindows());
    after(() => lab?.close());
    body(() => {
      assert.ok(lab);
      return lab;
    });
  });
}

/** Waits until a check passes; fails with what it last said. */
export async function eventually(check: () => Promise<void> | void): Promise<void> {
  const endMs = Date.now() + patienceMs;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() > endMs) throw error;
      await new Promise((resolve) => setTimeout(resolve, stepMs));
    }
  }
}

/** The computed value of one CSS property. */
export function styleOf(page: Page, selector: string, property: string): Promise<string> {
  const [element, name] = [JSON.stringify(selector), JSON.stringify(property)];
  return page.evaluate<string>(
    `getComputedStyle(document.querySelector(${element})).getPropertyValue(${name})`,
  );
}
