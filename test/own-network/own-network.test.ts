/**
 * Addresses, links and servers that come and go under a running program, each scenario in a network of
 * its own (`unshare`). What happens in it is in listen-run.ts and program-run.ts.
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { builtAddon, missingForAddon } from '../native/built-addon.ts';
import { missingTools } from '../support/tools.ts';

const skip = missingTools('unshare', 'ip');

async function run(t: TestContext, file: string, name: string, udp: string): Promise<void> {
  const words = ['-rnm', process.execPath, join(import.meta.dirname, file), name];
  const env = { ...process.env, SLUICE_UDP: udp };
  try {
    await promisify(execFile)('unshare', words, { env, timeout: 120_000 });
  } catch (error) {
    const said = String((error as { stderr?: string }).stderr ?? error);
    if (!/^unshare: |uid_map/.test(said)) throw new Error(said, { cause: error });
    t.skip(`needs root, or user namespaces: ${said.slice(0, 100)}`);
  }
}

const LISTENING = [
  ['late', 'an address that is not there yet is served when it comes, and comes again'],
  ['scoped', 'a link-local address is served on its link, and asked as an upstream'],
  ['nothing', 'nothing to listen on is an error'],
] as const;

for (const [name, title] of LISTENING) {
  test(`${title}, with node:dgram`, { skip }, (t) => run(t, 'listen-run.ts', name, 'dgram'));
  test(`${title}, in batches`, { skip: skip || missingForAddon }, async (t) => {
    await builtAddon();
    await run(t, 'listen-run.ts', name, 'native');
  });
}

const PROGRAM = [
  ['listen', 'a listen address that is not there is told in health until it is'],
  ['servers', 'resolv.conf is followed however it is changed, and read at a reload'],
  ['clients', 'clients of the networks of own links are answered, others are told in health'],
] as const;

for (const [name, title] of PROGRAM) {
  test(title, { skip }, (t) => run(t, 'program-run.ts', name, 'dgram'));
}
