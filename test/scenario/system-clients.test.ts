/**
 * Programs that resolve names for people, as clients on a machine whose only server is the gateway:
 * Chromium with its own resolver, and the real systemd-resolved.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import type { Visited } from '../support/chromium-run.ts';
import type { Resolved } from '../support/resolved-run.ts';
import { tempDir } from '../support/temp-dir.ts';
import { missingTools } from '../support/tools.ts';
import { ownerBinaries, type OwnerBinaries } from '../system-dns/support/owner-binaries.ts';
import { missingForSandbox, Sandbox } from '../system-dns/support/sandbox.ts';

const run = promisify(execFile);
const script = (name: string): string => resolve(import.meta.dirname, '../support', name);
const timeout = 60_000;

const skipChromium = missingTools('chromium', 'unshare', 'ip');

test(
  'Chromium loads what is allowed, and not what is blocked',
  { skip: skipChromium, timeout },
  async (t) => {
    const names = ['www.site.example', 'alias.site.example', 'big.site.example'];
    const words = [
      script('chromium-run.ts'),
      await tempDir(t),
      ...names,
      'x.ads.example',
      'missing.example',
    ];
    let seen: Visited;
    try {
      const { stdout } = await run('unshare', ['-rnm', process.execPath, ...words]);
      seen = JSON.parse(stdout) as Visited;
    } catch (error) {
      const said = String((error as { stderr?: string }).stderr ?? error);
      if (!/unshare|Operation not permitted/.test(said)) throw error;
      t.skip(`needs user namespaces: ${said.slice(0, 100)}`);
      return;
    }
    for (const name of names) assert.equal(seen.pages[name], name);
    assert.equal(seen.pages['x.ads.example'], 'net::ERR_CONNECTION_REFUSED');
    assert.match(
      seen.pages['missing.example'] ?? '',
      /ERR_NAME_NOT_RESOLVED|ERR_INTERNET_DISCONNECTED/,
    );
    // The C library never asks for HTTPS: this was the browser itself.
    assert.ok(seen.asked.includes('www.site.example TYPE65'), seen.asked.join());
  },
);

test(
  'systemd-resolved finds what is allowed, and not what is blocked',
  { skip: missingForSandbox(), timeout },
  async (t) => {
    let binaries: OwnerBinaries;
    try {
      binaries = ownerBinaries();
    } catch (error) {
      const [line] = String(error).split('\n');
      t.skip(
        `needs the Debian package systemd-resolved, which apt-get cannot download: ${line ?? ''}`,
      );
      return;
    }
    const sandbox = await Sandbox.open(binaries.services);
    t.after(() => sandbox.close());
    const names = ['www.site.example', 'alias.site.example', 'big.site.example', 'x.ads.example'];
    const words = [process.execPath, script('resolved-run.ts'), ...names, 'missing.example'];
    const { found, asked } = JSON.parse(await sandbox.run(...words)) as Resolved;
    assert.equal(found['www.site.example'], '192.0.2.10');
    assert.equal(found['alias.site.example'], '192.0.2.10');
    assert.equal(found['big.site.example']?.split(' ').length, 100);
    assert.equal(found['x.ads.example'], '0.0.0.0');
    assert.match(found['missing.example'] ?? '', /^error: .*not found/);
    assert.ok(asked.includes('www.site.example TYPE1'), asked.join());
  },
);
