/** What the window's own origin serves, and what it does not. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { uiHandler } from '../../main/electron/ui-protocol.ts';
import { PAGE_POLICY } from '../../main/api/http/page-policy.ts';

const outside = mkdtempSync(join(tmpdir(), 'sluice-ui-'));
const folder = join(outside, 'ui');
mkdirSync(join(folder, 'assets'), { recursive: true });
writeFileSync(join(folder, 'index.html'), '<!doctype html>');
writeFileSync(join(folder, 'assets', 'main.js'), 'export {};');
writeFileSync(join(folder, 'odd.exe'), 'x');
writeFileSync(join(outside, 'secret.json'), '{}');
symlinkSync(join(outside, 'secret.json'), join(folder, 'link.json'));
after(() => {
  rmSync(outside, { recursive: true });
});

const ask = (address: string, method = 'GET'): Promise<Response> =>
  uiHandler(folder)({ url: address, method });

test('serves files with their type and the policy', async () => {
  const page = await ask('app://sluice/');
  assert.equal(page.status, 200);
  assert.equal(await page.text(), '<!doctype html>');
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  assert.equal(page.headers.get('content-security-policy'), PAGE_POLICY);
  assert.equal(page.headers.get('x-content-type-options'), 'nosniff');
  const script = await ask('app://sluice/assets/main.js?v=1#x');
  assert.equal(script.headers.get('content-type'), 'text/javascript; charset=utf-8');
});

test('the policy lets no inline script, no other origin and no frame in', () => {
  assert.match(PAGE_POLICY, /default-src 'none'/);
  assert.doesNotMatch(PAGE_POLICY, /unsafe|https?:|\*/);
});

test('serves nothing outside its folder', async () => {
  for (const address of [
    'app://sluice/../secret.json',
    'app://sluice/%2e%2e/secret.json',
    'app://sluice/..%2fsecret.json',
    'app://sluice/assets/..%2f..%2fsecret.json',
    'app://sluice/link.json',
    'app://sluice/%00',
    'app://sluice/%',
    'app://sluice//etc/hostname',
    'app://other/index.html',
    'file:///etc/hostname',
    'not a url',
  ]) {
    assert.equal((await ask(address)).status, 404, address);
  }
});

test('serves no unknown type, no folder, no missing file, and only reads', async () => {
  assert.equal((await ask('app://sluice/odd.exe')).status, 404);
  assert.equal((await ask('app://sluice/assets')).status, 404);
  assert.equal((await ask('app://sluice/none.js')).status, 404);
  assert.equal((await ask('app://sluice/index.html', 'POST')).status, 405);
});

test('a build that is missing is an error page, not a crash', async () => {
  const handler = uiHandler(join(outside, 'none'));
  assert.equal((await handler(new Request('app://sluice/'))).status, 404);
});
