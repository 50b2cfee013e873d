/** An installed program does not load native files that the environment names. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { developmentVariable } from '../../main/contract/installed.ts';

const ENVIRONMENT = { SLUICE_UDP_ADDON: '/tmp/own.node' };
const read = (here: string): string | undefined =>
  developmentVariable('SLUICE_UDP_ADDON', ENVIRONMENT, here);

test('development variables count in a checkout and in a build of one', () => {
  assert.equal(read('file:///home/ann/sluice/main/contract/installed.ts'), '/tmp/own.node');
  assert.equal(read('file:///home/ann/sluice/dist/main/chunks/x.js'), '/tmp/own.node');
  assert.equal(read('file:///home/ann/lib/sluice-dns/main/contract/installed.ts'), '/tmp/own.node');
});

test('and are ignored in the packages of the app, and where a service is installed', () => {
  for (const here of [
    'file:///opt/Sluice/resources/app.asar/dist/main/chunks/x.js',
    'file:///opt/Sluice/resources/app.asar.unpacked/dist/main/system-dns/guardian/guardian-process.cjs',
    'file:///Applications/Sluice.app/Contents/Resources/app.asar/dist/main/headless.js',
    'file:///C:/Program%20Files/Sluice/resources/app.asar/dist/main/headless.js',
    'file:///usr/lib/sluice/dist/main/headless.js',
    'file:///usr/local/lib/sluice/dist/main/chunks/x.js',
  ]) {
    assert.equal(read(here), undefined, here);
  }
});
