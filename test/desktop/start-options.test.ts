/** The desktop app's command line. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readStartOptions } from '../../main/electron/start-options.ts';

test('reads its own options among those of Chromium', () => {
  const own =
    '--data-dir data --config=/etc/s.yaml --listen 127.0.0.1:1 --listen [::1]:1 --http a:2';
  const argv = ['--no-sandbox', '/app', ...own.split(' '), '--hidden'];
  assert.deepEqual(readStartOptions(argv, '/home/u'), {
    dataDirectory: '/home/u/data',
    configFile: '/etc/s.yaml',
    listen: ['127.0.0.1:1', '[::1]:1'],
    http: 'a:2',
    isHidden: true,
  });
});

test('has no folder and no file of its own when none is named', () => {
  assert.deepEqual(readStartOptions(['/app', '--data-dir'], '/home/u'), {
    dataDirectory: null,
    configFile: null,
    listen: [],
    http: null,
    isHidden: false,
  });
});
