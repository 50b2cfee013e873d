/**
 * Draws the icons: app.svg and the tray marks below, as PNG and ICO files in resources/icons.
 *
 * Run by hand after a change: `node test/page/draw-icons.ts`. It needs Debian's chromium and
 * imagemagick; the files it makes are kept in the repository.
 *
 * A tray mark is the gate of the app's icon on a 16 by 16 grid: lowered while names are blocked,
 * raised while everything passes.
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { chromium, type Page } from 'playwright-core';

const icons = fileURLToPath(new URL('../../resources/icons/', import.meta.url));
const appSizes = [16, 24, 32, 48, 64, 128, 256, 512, 1024];
const icoSizes = [16, 20, 24, 32, 48];
const black = '#000000';

const posts =
  '<rect x="1.25" y="1.5" width="2.25" height="10" rx="0.6"/>' +
  '<rect x="12.5" y="1.5" width="2.25" height="10" rx="0.6"/>';
const water =
  '<path d="M1.5 14c1.2-1 2.05-1 3.25 0s2.05 1 3.25 0 2.05-1 3.25 0 2.05 1 3.25 0" ' +
  'fill="none" stroke="currentColor" stroke-width="1.6" stroke-linecap="round"/>';
const gate =
  'M5.25 3.5h5.5a.75.75 0 0 1 .75.75v6.5a.75.75 0 0 1-.75.75h-5.5a.75.75 0 0 1-.75-.75v-6.5a.75.75 0 0 1 .75-.75z';

/** Colours stand on light and on dark panels alike. */
const marks = {
  on: { color: '#2596b5', gate: `<path d="${gate}"/>` },
  paused: {
    color: '#d08a12',
    gate:
      '<rect x="5" y="3.5" width="2.25" height="8" rx="0.6"/>' +
      '<rect x="8.75" y="3.5" width="2.25" height="8" rx="0.6"/>',
  },
  off: { color: '#8a959d', gate: '<rect x="4.5" y="1.5" width="7" height="2.75" rx="0.6"/>' },
  degraded: {
    color: '#de5d37',
    gate: `<path fill-rule="evenodd" d="${gate}M7.1 4.6v3.1h1.8V4.6zM7.1 8.9v1.6h1.8V8.9z"/>`,
  },
} as const;

const browser = await chromium.launch({
  executablePath: '/usr/bin/chromium',
  args: ['--headless', '--no-sandbox', '--disable-gpu'],
});
const page = await browser.newPage();

mkdirSync(`${icons}app`, { recursive: true });

const app = readFileSync(`${icons}app.svg`, 'utf8');
for (const size of appSizes) {
  await draw(page, app, size, `app/${String(size)}x${String(size)}.png`);
}
writeIco(
  appSizes.filter((size) => size <= 256).map((size) => `app/${String(size)}x${String(size)}.png`),
  'app.ico',
);

await draw(page, app, 1024, 'app.png');
// The name that stands for no state in particular.
await draw(page, mark(marks.on.gate, black), 16, 'trayTemplate.png');
await draw(page, mark(marks.on.gate, black), 32, 'trayTemplate@2x.png');

for (const [name, { color, gate: middle }] of Object.entries(marks)) {
  await draw(page, mark(middle, color), 24, `tray-${name}.png`);
  await draw(page, mark(middle, color), 48, `tray-${name}@2x.png`);
  await draw(page, mark(middle, black), 16, `tray-${name}Template.png`);
  await draw(page, mark(middle, black), 32, `tray-${name}Template@2x.png`);
  const parts = icoSizes.map((size) => `tray-${name}-${String(size)}.part.png`);
  for (const [index, part] of parts.entries()) {
    await draw(page, mark(middle, color), icoSizes[index] ?? 16, part);
  }
  writeIco(parts, `tray-${name}.ico`);
  for (const part of parts) rmSync(`${icons}${part}`);
}
await browser.close();

function mark(middle: string, color: string): string {
  const inner = `${posts}${middle}${water}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" fill="${color}" color="${color}">${inner}</svg>`;
}

/** Writes one PNG with a transparent ground. */
async function draw(canvas: Page, svg: string, size: number, file: string): Promise<void> {
  await canvas.setViewportSize({ width: size, height: size });
  await canvas.setContent(
    `<style>body{margin:0}svg{display:block;width:${String(size)}px;height:${String(size)}px}</style>${svg}`,
  );
  writeFileSync(`${icons}${file}`, await canvas.screenshot({ omitBackground: true }));
}

function writeIco(files: readonly string[], ico: string): void {
  execFileSync('convert', [...files, ico], { cwd: icons });
}
