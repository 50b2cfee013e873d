/** Hostile files for `sluice import`: what is no file, what grows without end, what takes for ever. */
import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as wait } from 'node:timers/promises';
import { zipSync } from 'fflate';
import { expect, runCase, type CaseResult, type Part, type Setting } from './case.ts';
import { Pulse } from './pulse.ts';
import { Subject } from './subject.ts';
import { Closers, GOOD_ADDRESS, goodUpstream, ZONE } from './surroundings.ts';

const IMPORT_MS = { full: 60_000, short: 15_000 };
const CONTROL_MS = 1_000;
const GROWTH_MAX_BYTES = 400 * 2 ** 20;

/** Makes the file of its name below a folder. @returns its path */
type Make = (folder: string) => Promise<string> | string;

function gravity(folder: string, domains: string): string {
  const path = join(folder, 'gravity.db');
  const database = new DatabaseSync(path);
  database.exec(`
    CREATE TABLE info (property TEXT, value TEXT); INSERT INTO info VALUES ('version', '20');
    CREATE TABLE "group" (id INTEGER PRIMARY KEY, enabled BOOLEAN, name TEXT, description TEXT);
    INSERT INTO "group" VALUES (0, 1, 'Default', '');
    CREATE TABLE adlist (id INTEGER PRIMARY KEY, address TEXT, enabled BOOLEAN, comment TEXT, type INTEGER);
    CREATE TABLE adlist_by_group (adlist_id INTEGER, group_id INTEGER);
    CREATE TABLE client (id INTEGER PRIMARY KEY, ip TEXT, comment TEXT);
    CREATE TABLE client_by_group (client_id INTEGER, group_id INTEGER);
    CREATE TABLE domainlist_by_group (domainlist_id INTEGER, group_id INTEGER);
    ${domains}`);
  database.close();
  return path;
}

const PLAIN_COLUMNS = 'id INTEGER PRIMARY KEY, type INTEGER, enabled BOOLEAN, comment TEXT';

const FILES: Readonly<Record<string, Make>> = {
  'named pipe': (folder) => {
    const path = join(folder, 'gravity.db');
    execFileSync('mkfifo', [path]);
    return path;
  },
  'endless device': () => '/dev/zero',
  folder: async (folder) => {
    await mkdir(join(folder, 'AdGuardHome.yaml'));
    return join(folder, 'AdGuardHome.yaml');
  },
  'gravity.db with generated columns': (folder) =>
    gravity(
      folder,
      `CREATE TABLE domainlist (${PLAIN_COLUMNS}, domain TEXT AS (printf('%.*c', 100000000, 'x')) VIRTUAL);
       INSERT INTO domainlist (id, type, enabled) VALUES
       ${Array.from({ length: 50 }, (_, at) => `(${String(at + 1)}, 1, 1)`).join(',')};`,
    ),
  'gravity.db with 100,000 group links': (folder) =>
    gravity(
      folder,
      `CREATE TABLE domainlist (${PLAIN_COLUMNS}, domain TEXT);
       INSERT INTO domainlist (id, type, enabled, domain) VALUES (1, 1, 1, 'a.example');
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)
       INSERT INTO domainlist_by_group SELECT 1, i FROM n;`,
    ),
  'YAML aliases that multiply': async (folder) => {
    const path = join(folder, 'AdGuardHome.yaml');
    const lines = ['schema_version: 29', 'a0: &a0 ["x","x","x","x","x","x","x","x","x"]'];
    for (let level = 1; level < 9; level++) {
      const before = `*a${String(level - 1)}`;
      lines.push(
        `a${String(level)}: &a${String(level)} [${Array.from({ length: 9 }, () => before).join(',')}]`,
      );
    }
    lines.push('user_rules: *a8', 'filters: *a8');
    await writeFile(path, `${lines.join('\n')}\n`);
    return path;
  },
  'YAML nested deeply': async (folder) => {
    const path = join(folder, 'config.yml');
    await writeFile(path, `blocking: ${'['.repeat(120_000)}${']'.repeat(120_000)}\n`);
    return path;
  },
  'zip that unpacks to half a gigabyte': async (folder) => {
    const path = join(folder, 'teleporter.zip');
    const zeros = new Uint8Array(512 * 2 ** 20);
    await writeFile(
      path,
      zipSync({ 'etc/pihole/gravity.db': zeros, 'etc/pihole/pihole.toml': zeros.subarray(0, 9) }),
    );
    return path;
  },
  'hosts file of blanks': async (folder) => {
    const path = join(folder, 'hosts.txt');
    await writeFile(path, `127.0.0.1${' '.repeat(1_000_000)}x\n`.repeat(3));
    return path;
  },
  'random bytes': async (folder) => {
    const path = join(folder, 'gravity.db');
    await writeFile(
      path,
      Buffer.from(Array.from({ length: 300_000 }, (_, at) => (at * 31_337) & 255)),
    );
    return path;
  },
};

async function importFile(name: string, make: Make, setting: Setting): Promise<CaseResult> {
  return runCase(name, setting, async (folder, tell) => {
    const closers = new Closers();
    const path = await make(folder);
    const upstream = await goodUpstream(closers);
    const subject = await Subject.make(folder, {
      dns: { upstreams: [upstream] },
      rules: ['||always.example^'],
      lists: [],
    });
    const zone = { blocked: 'always.example', zone: ZONE, address: GOOD_ADDRESS };
    const pulse = await Pulse.start({ port: subject.dnsPort, ...zone });
    closers.after(() => pulse.stop());
    const importMs = IMPORT_MS[setting.isShort ? 'short' : 'full'];
    let slowestMs = 0;
    let peakBytes = 0;
    tell({
      questions: () => pulse.questions,
      figures: () => ({
        controlMs: Math.round(slowestMs),
        peakMiB: Math.round(peakBytes / 2 ** 20),
      }),
    });
    try {
      await subject.start();
      closers.after(() => subject.kill());
      pulse.up();
      const before = await subject.rssBytes();
      const progress = { isOver: false };
      const importing = subject.cli(['import', path, '--dry-run'], importMs).then((result) => {
        progress.isOver = true;
        return result;
      });
      while (!progress.isOver) {
        const startMs = performance.now();
        await subject.call('status', {}, 10_000).catch((error: unknown) => {
          throw new Error(`the control plane does not answer: ${String(error)}`);
        });
        slowestMs = Math.max(slowestMs, performance.now() - startMs);
        peakBytes = Math.max(peakBytes, await subject.rssBytes());
        await wait(50);
      }
      const { code, text } = await importing;
      expect(code !== -1, `the import did not end within ${String(importMs / 1000)} s`);
      expect(subject.isAlive(), `it ended: ${subject.lastWords} ${text.slice(0, 200)}`);
      expect(slowestMs <= CONTROL_MS, `the control plane took ${slowestMs.toFixed(0)} ms`);
      const grown = peakBytes - before;
      expect(grown < GROWTH_MAX_BYTES, `memory grew by ${String(Math.round(grown / 2 ** 20))} MiB`);
      pulse.down();
      const { wrong, lost } = pulse.questions;
      expect(
        wrong + lost === 0,
        `${String(wrong)} wrong (${pulse.firstWrong}), ${String(lost)} lost`,
      );
    } finally {
      pulse.down();
      await closers.close();
    }
  });
}

export const IMPORTS_PART: Part = {
  name: 'hostile imports',
  criterion:
    'The import ends within 60 s, meanwhile the control plane answers within a second and every ' +
    'question is answered right; memory grows by less than 400 MiB.',
  run: async (setting) => {
    const results: CaseResult[] = [];
    const chosen = Object.entries(FILES).filter(
      ([name]) => !setting.isShort || /pipe|generated|aliases/.test(name),
    );
    for (const [name, make] of chosen) results.push(await importFile(name, make, setting));
    return results;
  },
};
