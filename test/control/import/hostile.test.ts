/**
 * Files made to harm, through the process that reads imports: whatever is in them, this process goes
 * on, within bounds, and the next good file is read.
 */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { symlink, truncate, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { createTarGzip } from 'nanotar';
import { zipSync } from 'fflate';
import { LIMITS } from '../../../main/contract/limits.ts';
import { Importer } from '../../../main/control/import/importer.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { ADGUARD_HOME, BLOCKY, gravityDatabase } from './fixtures.ts';

const GOOD = Buffer.from(BLOCKY);

class World {
  text = 'lists: []\n';
  readonly folder: string;
  readonly importer: Importer;
  #count = 0;

  static async open(t: TestContext, bounds: ConstructorParameters<typeof Importer>[1] = {}) {
    return new World(await tempDir(t), bounds);
  }

  private constructor(folder: string, bounds: ConstructorParameters<typeof Importer>[1]) {
    this.folder = folder;
    const store = {
      readText: () => Promise.resolve(this.text),
      editText: (plan: (text: string, config: never) => string) => {
        this.text = plan(this.text, {} as never);
        return Promise.resolve({} as never);
      },
    };
    this.importer = new Importer(store, bounds);
  }

  async preview(content: string | Uint8Array, name = 'file') {
    const path = join(this.folder, String(this.#count++));
    await writeFile(path, content);
    return this.importer.preview({ path, name });
  }

  /** A refusal, and what it says. */
  async refusal(content: string | Uint8Array): Promise<string> {
    return this.preview(content).then(
      ({ program }) => assert.fail(`taken as ${program}`),
      (error: unknown) => {
        const { code, message } = error as { code?: string; message: string };
        assert.equal(code, 'IMPORT_REFUSED', message);
        return message;
      },
    );
  }

  /** Taken or refused; what it is, or why not. */
  async survives(content: string | Uint8Array): Promise<string> {
    return this.preview(content).then(
      ({ program }) => program,
      (error: unknown) => {
        const { code, message } = error as { code?: string; message: string };
        assert.equal(code, 'IMPORT_REFUSED', message);
        return message;
      },
    );
  }
}

describe('what is no regular file', () => {
  test('a pipe without another end, five times, holds up nothing', async (t) => {
    const world = await World.open(t);
    const path = join(world.folder, 'pipe');
    execFileSync('mkfifo', [path]);
    for (let round = 0; round < 5; round++) {
      await assert.rejects(world.importer.preview({ path, name: 'pipe' }), /no regular file/);
    }
    assert.equal((await world.preview(GOOD)).program, 'blocky');
  });

  test('devices, folders, sockets, files that the system makes up, and none at all', async (t) => {
    const world = await World.open(t);
    const socket = join(world.folder, 'socket');
    const server = createServer().listen(socket);
    t.after(() => server.close());
    await new Promise((resolve) => server.once('listening', resolve));
    const link = join(world.folder, 'link');
    await symlink('/dev/zero', link);
    const paths = [
      '/dev/zero',
      '/dev/tty',
      '/',
      '/proc/self/environ',
      '/no/such',
      'relative',
      link,
    ];
    for (const path of [...paths, socket]) {
      await assert.rejects(world.importer.preview({ path, name: 'x' }), { code: 'IMPORT_REFUSED' });
    }
    await assert.rejects(world.importer.preview({ path: '/no/such', name: 'x' }), /ENOENT/);
  });
});

describe('databases', () => {
  const COLUMNS = 'id, type, enabled, comment';

  test('computed columns, views and virtual tables are not read', async (t) => {
    const world = await World.open(t);
    const big = "replace(hex(zeroblob(40000000)), '0', 'xxxxx')";
    for (const sql of [
      `CREATE TABLE adlist (${COLUMNS}, address AS (${big}));
       INSERT INTO adlist (id) VALUES (1), (2), (3);`,
      `CREATE TABLE adlist (${COLUMNS}, address TEXT DEFAULT 'x');
       CREATE VIEW domainlist AS SELECT 1 AS id, ${big} AS domain;`,
      `CREATE TABLE adlist (id); CREATE VIRTUAL TABLE domainlist USING fts5(domain);`,
      `CREATE TABLE adlist (id, address);
       CREATE TABLE "group" (id, name AS (${big}) STORED);`,
    ]) {
      assert.equal(await world.survives(await gravityDatabase(sql)), 'Pi-hole gravity.db');
    }
    assert.equal((await world.preview(GOOD)).program, 'blocky');
  });

  test('large values, many rows, many tables, damaged pages', async (t) => {
    const world = await World.open(t);
    const values = await gravityDatabase(`CREATE TABLE adlist (id, address, comment);
      WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60)
      INSERT INTO adlist SELECT i, 'https://x.example/' || i, printf('%.*c', 500000, 'x') FROM n;`);
    assert.equal(await world.survives(values), 'Pi-hole gravity.db');
    const tables = Array.from({ length: 2_000 }, (_, n) => `CREATE TABLE t${String(n)} (a);`);
    await world.survives(
      await gravityDatabase(`BEGIN;CREATE TABLE adlist (id);${tables.join('')}COMMIT;`),
    );
    const good = await gravityDatabase();
    for (let page = 1; page < good.length / 4_096; page += 9) {
      const damaged = Buffer.from(good);
      damaged.fill(0xff, page * 4_096, page * 4_096 + 200);
      await world.preview(damaged).catch((error: unknown) => {
        assert.equal((error as { code?: string }).code, 'IMPORT_REFUSED');
      });
    }
  });

  test('100,000 links between rows and groups', async (t) => {
    const world = await World.open(t);
    const database = await gravityDatabase(`
      CREATE TABLE "group" (id, enabled, name);
      CREATE TABLE domainlist (id, type, domain, enabled);
      CREATE TABLE domainlist_by_group (domainlist_id, group_id);
      CREATE TABLE client (id, ip, comment);
      CREATE TABLE client_by_group (client_id, group_id);
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
      INSERT INTO domainlist_by_group SELECT 1, i % 1000 FROM n;
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
      INSERT INTO client_by_group SELECT i, i % 1000 FROM n;
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 999)
      INSERT INTO "group" SELECT i, 1, 'same name' FROM n;
      WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 99999)
      INSERT INTO client SELECT i, '10.' || (i / 65536) || '.' || (i / 256 % 256) || '.' || (i % 256),
        'same name' FROM n;
      INSERT INTO domainlist VALUES (1, 1, 'bad.example', 1);`);
    let ticks = 0;
    const timer = setInterval(() => ticks++, 10);
    const report = await world.preview(database).finally(() => {
      clearInterval(timer);
    });
    assert.equal(report.program, 'Pi-hole gravity.db');
    const left = report.notTaken.find(({ why }) => why === 'only 1024 can be in the settings');
    assert.equal(left?.count, 100_000 - LIMITS.clientsMax);
    assert.ok(ticks > 3, 'the control plane goes on meanwhile');
  });

  test('340 MiB, of which next to nothing is needed', async (t) => {
    const world = await World.open(t);
    const path = join(world.folder, 'gravity.db');
    await writeFile(path, await gravityDatabase());
    await truncate(path, 340 * 1024 * 1024);
    const report = await world.importer.preview({ path, name: 'gravity.db' });
    assert.equal(report.taken.find(({ section }) => section === 'lists')?.count, 4);
    await truncate(path, LIMITS.importBytesMax + 1);
    await assert.rejects(world.importer.preview({ path, name: 'gravity.db' }), /Teleporter/);
  });
});

describe('texts', () => {
  test('YAML: many keys, nesting, aliases, keys twice', async (t) => {
    const world = await World.open(t);
    const keys = Array.from({ length: 25_000 }, (_, n) => `k${String(n)}: 1\n`).join('');
    assert.equal(await world.survives(`${BLOCKY}${keys}`), 'blocky');
    assert.match(await world.refusal(`${BLOCKY}blocking: {}\n`), /key "blocking" twice/);
    const cut = await world.refusal(`${BLOCKY}blocking2: [\n`);
    assert.match(cut, /no valid YAML, line \d+/);
    const nested = `blocking:\n  denylists: ${'['.repeat(100_000)}${']'.repeat(100_000)}\n`;
    assert.match(await world.refusal(nested), /nested too deeply/);
    const flow = `blocking: ${'{a: '.repeat(60)}1${'}'.repeat(60)}\n`;
    assert.match(await world.refusal(flow), /nested too deeply/);
    const steps = Array.from({ length: 4_000 }, (_, n) => `${' '.repeat(n % 50)}a${String(n)}:\n`);
    await world.survives(`blocking:\n${steps.join('')}`);
    const laughs = Array.from(
      { length: 12 },
      (_, n) => `l${String(n + 1)}: &l${String(n + 1)} [${`*l${String(n)},`.repeat(10)}]\n`,
    );
    const bomb = `l0: &l0 [x]\n${laughs.join('')}blocking: { denylists: { a: *l12 } }\n`;
    assert.match(await world.refusal(bomb), /aliases/);
    await world.survives(`{"schema_version": 1, "dns": ${'['.repeat(200_000)}`);
  });

  test('long lines, blanks, NUL, bytes that are no UTF-8', async (t) => {
    const world = await World.open(t);
    const most = LIMITS.importTextBytesMax - 100;
    await world.survives(`bad.example${' '.repeat(most)}x\n`);
    await world.survives(`bad.example\n${' \t'.repeat(3_000)}#\n`.repeat(2_000));
    await world.survives(`0.0.0.0 ${'a '.repeat(4_000)}\n`.repeat(500));
    await world.survives('#'.repeat(most));
    await world.survives(`x${'#'.repeat(8_000)}\u2028\n`.repeat(500));
    await world.survives(`/${'(a+)+'.repeat(50)}$/\n`.repeat(100));
    await world.survives(Buffer.from('bad.example\n\xff\xfe\xfd.example\n', 'latin1'));
    assert.match(await world.refusal('bad.example\n\0\n'), /no known kind/);
    assert.match(await world.refusal('x'.repeat(LIMITS.importTextBytesMax + 1)), /too large/);
    const rules = Array.from({ length: 90_000 }, (_, n) => `why ${String(n)} not\n`).join('');
    assert.match(await world.refusal(rules), /no known kind/);
  });

  test('a report has a bounded number of reasons', async (t) => {
    const world = await World.open(t);
    const rows = Array.from({ length: 5_000 }, (_, n) => ({
      ...{ id: n, type: 3, enabled: 1 },
      domain: `x;option${String(n)}`,
    }));
    const tar = await createTarGzip([
      { name: 'adlist.json', data: '[]' },
      { name: 'blacklist.regex.json', data: JSON.stringify(rows) },
    ]);
    const { notTaken } = await world.preview(tar);
    assert.ok(notTaken.length <= LIMITS.importReasonsMax + 10);
    assert.equal(
      notTaken.reduce((sum, { count }) => sum + count, 0),
      5_000,
    );
  });
});

describe('archives', () => {
  test('many files, archives in archives, twice the same name', async (t) => {
    const world = await World.open(t);
    const inner = zipSync({ 'etc/pihole/pihole.toml': Buffer.from('[dns]\n') });
    await world.survives(zipSync({ 'etc/pihole/gravity.db': inner }));
    const many = Object.fromEntries(
      Array.from({ length: 2_000 }, (_, n) => [`f${String(n)}`, new Uint8Array(1)]),
    );
    assert.match(await world.refusal(zipSync(many)), /too many files/);
    const data = '['.repeat(500_000);
    await world.survives(await createTarGzip([{ name: 'adlist.json', data }]));
    await world.survives(
      zipSync({ 'etc/pihole/pihole.toml': Buffer.from(`[dns]\nx = ${'['.repeat(500_000)}`) }),
    );
  });
});

describe('bounds', () => {
  test('time and memory', async (t) => {
    const hurried = await World.open(t, { timeMs: 1 });
    assert.match(await hurried.refusal(GOOD), /longer than 0\.001 s/);
    if (process.platform === 'linux') {
      const small = await World.open(t, { memoryMiB: 1 });
      const large = '0.0.0.0 a.example\n'.repeat(LIMITS.importRowsMax);
      assert.match(await small.refusal(large), /more than 1 MiB of memory/);
    }
  });

  test('one at a time, which can be watched and cancelled', async (t) => {
    const world = await World.open(t);
    const running = world.preview('0.0.0.0 a.example\n'.repeat(LIMITS.importRowsMax));
    const failure = assert.rejects(running, /it was stopped/);
    while (world.importer.status.stage === '') await new Promise((done) => setTimeout(done, 5));
    assert.equal(world.importer.status.running, true);
    const path = join(world.folder, 'other');
    await writeFile(path, GOOD);
    await assert.rejects(world.importer.preview({ path, name: 'other' }), /another import/);
    assert.equal(world.importer.cancel(), true);
    await failure;
    assert.equal(world.importer.cancel(), false);
    assert.deepEqual(world.importer.status, { running: false, stage: '', elapsedMs: 0 });
  });

  test('a dry run says what is then taken; settings that change meanwhile are read anew', async (t) => {
    const world = await World.open(t);
    const path = join(world.folder, 'AdGuardHome.yaml');
    await writeFile(path, ADGUARD_HOME);
    const file = { path, name: 'AdGuardHome.yaml' };
    const dry = await world.importer.preview(file);
    assert.equal(world.text, 'lists: []\n');
    const applying = world.importer.apply(file);
    world.text = '# mine\nlists: []\n';
    assert.deepEqual(await applying, { ...dry, applied: true });
    assert.match(world.text, /^# mine\n/);
    const again = await world.importer.apply(file);
    assert.ok(again.taken.every(({ count }) => count === 0));
  });

  test('lists that are files stay out for whoever may not read them', async (t) => {
    const world = await World.open(t);
    const path = join(world.folder, 'config.yml');
    await writeFile(path, 'blocking: { denylists: { a: [/etc/passwd] } }\ncustomDNS: {}\n');
    const taken = await world.importer.preview({ path, name: '' });
    assert.ok(taken.taken.some(({ section }) => section === 'lists'));
    const { notTaken } = await world.importer.preview({ path, name: '', takesFiles: false });
    assert.ok(notTaken.some(({ examples }) => examples.includes('file:///etc/passwd')));
  });
});
