/** The stand-in Electron says at every start that it is one; a current runtime says nothing. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runtimeWarnings } from '../../tools/electron-runtime.ts';

const runtime = { executable: '/x/electron', electronVersion: '33.2.1', sqliteBinding: null };

test('the stand-in warns that it gets no security updates, and says what to do', () => {
  const said = runtimeWarnings({ ...runtime, isStandIn: true }).join('\n');
  assert.match(said, /WARNING: Electron 33\.2\.1 .* without security updates/);
  assert.match(said, /ELECTRON_MIRROR.*--headless/s);
});

test('a current Electron does not warn', () => {
  assert.deepEqual(runtimeWarnings({ ...runtime, isStandIn: false }), []);
});
