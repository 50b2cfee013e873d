/**
 * The takeover on whole machines: real systemd-resolved, NetworkManager and openresolv in network
 * namespaces, with getaddrinfo as the client. Scenarios: support/inside-test.ts.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { FLAVOURS, type Flavour } from './support/machine.ts';
import { ownerBinaries } from './support/owner-binaries.ts';
import { missingForSandbox, Sandbox } from './support/sandbox.ts';

const INSIDE = fileURLToPath(new URL('./support/inside-test.ts', import.meta.url));
const run = promisify(execFile);
const missing = missingForSandbox();

async function scenario(name: string, flavour: Flavour): Promise<Record<string, number[]>> {
  const binaries = ownerBinaries();
  const layer = flavour === 'resolvconf' ? binaries.openresolv : binaries.services;
  const sandbox = await Sandbox.open(layer);
  try {
    const words = [process.execPath, INSIDE, name, join(sandbox.folder, 'state'), flavour];
    const { stdout } = await run('nsenter', sandbox.enter(words), { timeout: 120_000 });
    return JSON.parse(stdout) as Record<string, number[]>;
  } finally {
    await sandbox.close();
  }
}

for (const flavour of FLAVOURS) {
  test(`${flavour}: on and off, twice`, { skip: missing }, async (t) => {
    const { onMs = [], offMs = [] } = await scenario('switching', flavour);
    const text = (times: number[]): string => times.map((one) => one.toFixed(0)).join(' and ');
    t.diagnostic(`on after ${text(onMs)} ms, off after ${text(offMs)} ms`);
    assert.equal(onMs.length, 2);
  });
}

const more: readonly [name: string, flavour: Flavour, text: string][] = [
  ['newLink', 'systemd-resolved', 'a link that appears is covered and comes back as it came'],
  ['tunnel', 'systemd-resolved', 'a tunnel is left alone'],
  ['changedMeanwhile', 'systemd-resolved', 'what somebody changed meanwhile stays'],
  ['twoInstances', 'systemd-resolved', 'the second instance is refused'],
  ['fullDisk', 'systemd-resolved', 'a full disk'],
  ['readOnlyDisk', 'resolv.conf file', 'a disk that becomes read-only'],
  ['noneLost', 'systemd-resolved', 'no lookup is lost over on, off, on, off at 200 a second'],
  ['noneLost', 'resolv.conf file', 'no lookup is lost with a plain file'],
];
for (const [name, flavour, text] of more) {
  test(`${flavour}: ${text}`, { skip: missing }, async (t) => {
    t.diagnostic(JSON.stringify(await scenario(name, flavour)));
  });
}
