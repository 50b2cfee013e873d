/**
 * The command line: texts for people, exit codes, and what it says when nobody runs.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { runCli } from '../../../main/api/cli/cli.ts';
import { defaultDataDirectory } from '../../../main/api/cli/data-directory.ts';
import { tempDir } from '../../support/temp-dir.ts';
import { openDoors } from '../open-doors.ts';

async function sluice(...argv: string[]) {
  let out = '';
  let err = '';
  const code = await runCli(argv, { out: (text) => (out += text), err: (text) => (err += text) });
  return { code, out, err };
}

test('alone it prints the help', async () => {
  const { code, out } = await sluice();
  assert.equal(code, 0);
  for (const command of [
    'run',
    'status',
    'pause',
    'resume',
    'check',
    'allow',
    'block',
    'tail',
    'rules',
    'lists',
    'cache',
    'open',
  ]) {
    assert.match(out, new RegExp(`^ {2}${command}\\b`, 'm'));
  }
});

for (const argv of [['status'], ['check', 'a.example'], ['tail'], ['pause', '5'], ['open']]) {
  test(`sluice ${argv.join(' ')} when nobody runs: one clear line, exit code 1`, async (t) => {
    const folder = await tempDir(t);
    const { code, out, err } = await sluice('--data-dir', folder, ...argv);
    assert.deepEqual([code, out], [1, '']);
    assert.match(
      err,
      /^sluice: Sluice is not running on the data folder \S+; start it with "sluice run"\n$/,
    );
    const json = await sluice('--data-dir', folder, '--json', ...argv);
    assert.equal((JSON.parse(json.out) as { error: { code: string } }).error.code, 'NOT_RUNNING');
  });
}

test('a run.json left behind by kill -9 is nobody running', async (t) => {
  const folder = await tempDir(t);
  const gone = {
    pid: 2 ** 22 + 1,
    identity: '',
    version: '',
    dns: [],
    http: '127.0.0.1:1',
  };
  for (const info of [gone, { ...gone, pid: process.pid, identity: 'another boot 5' }, {}]) {
    await writeFile(join(folder, 'run.json'), JSON.stringify(info));
    assert.match((await sluice('--data-dir', folder, 'status')).err, /not running/);
  }
});

test('commands about policies, clients, services and records', async (t) => {
  const { folder } = await openDoors(t);
  const run = (...argv: string[]) => sluice('--data-dir', folder, ...argv);
  assert.equal((await run('policies')).out, 'no policies\n');
  const policy = '{"name":"night","action":"block","domains":["a.example","b.example"]}';
  assert.match(
    (await run('policies', 'put', policy)).out,
    /^name +state .*\nnight +in force +block +100 +a\.example and 1 more +everyone +always\n$/,
  );
  assert.match((await run('policies', 'disable', 'night')).out, /\nnight +disabled +block /);
  assert.match((await run('policies', 'enable', 'night')).out, /\nnight +in force +block /);
  assert.match(
    (await run('policies', 'disable', 'nihgt')).err,
    /there is no policy "nihgt", the nearest known one is "night"/,
  );
  assert.equal((await run('policies', 'remove', 'night')).out, 'no policies\n');
  const gone = await run('policies', 'remove', 'night');
  assert.deepEqual([gone.code, /there is no policy "night"/.test(gone.err)], [1, true]);
  assert.equal((await run('policies', 'put', '{')).code, 2);
  assert.match((await run('policies', 'put', '{"name":"x"}')).err, /policy\.action: missing/);
  const group = '{"name":"kids","services":["tiktok"]}';
  assert.match(
    (await run('clients', 'put-group', group)).out,
    /\nkids +all lists +0 rules +tiktok/,
  );
  assert.match(
    (await run('clients', 'put', 'phone', '10.0.0.9', 'fd00::9', '--group', 'kids')).out,
    /\nphone +kids +10\.0\.0\.9, fd00::9\n/,
  );
  assert.match(
    (await run('check', 'tiktok.com', '--client', '10.0.0.9')).out,
    /^tiktok\.com: blocked/,
  );
  assert.match((await run('check', 'tiktok.com')).out, /^tiktok\.com: allowed/);
  assert.equal((await run('check', 'tiktok.com', '--client', 'x')).code, 2);
  assert.match((await run('services', 'set', 'facebook')).out, /^blocked +facebook +social/);
  const blocked = async (...argv: string[]) =>
    (JSON.parse((await run('--json', 'services', ...argv)).out) as { services: string[] }).services;
  assert.deepEqual(await blocked('block', 'TikTok', 'youtube'), ['facebook', 'tiktok', 'youtube']);
  const slip = await run('services', 'block', 'reddit', 'Facebok');
  assert.equal(slip.code, 2);
  assert.match(slip.err, /there is no service "Facebok", the nearest known one is "facebook";/);
  assert.deepEqual(await blocked('unblock', 'facebook', 'reddit'), ['tiktok', 'youtube']);
  assert.match(
    (await run('services', 'safe-search', 'on', '--engine', 'bing')).out,
    /on for bing;/,
  );
  assert.match((await run('services', 'bypass', 'on')).out, /filter bypass: blocked\n$/);
  assert.match(
    (await run('records', 'put', 'mail.example', 'MX', '10', 'nas.example', '--ttl', '60')).out,
    /^mail\.example +60 +MX +10 nas\.example\n$/,
  );
  assert.equal((await run('records', 'remove', 'mail.example')).out, 'no records\n');
});

test('commands for people', async (t) => {
  const { folder, http, store, token } = await openDoors(t);
  const run = (...argv: string[]) => sluice('--data-dir', folder, ...argv);
  assert.match((await run('status')).out, /^Sluice +1\.2\.3, ok\n(.*\n)*log dropped +0\n/);
  assert.match((await run('pause', '5')).out, /^paused until \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n$/);
  assert.equal((await run('pause')).out, 'off until you resume\n');
  assert.equal((await run('resume')).out, 'on\n');
  assert.match((await run('check', 'x.listed.example')).out, /^x\.listed\.example: blocked\n/);
  assert.equal((await run('rules', 'add', 'ads.example')).out, '||ads.example^\n');
  assert.equal((await run('rules')).out, '||ads.example^\n');
  assert.equal((await run('rules', 'remove', 'ads.example')).out, 'no rules\n');
  assert.match((await run('lists')).out, /^name +state +format +names +ignored/);
  assert.match((await run('lists', 'show', 'none')).err, /there is no list "none"/);
  assert.match((await run('lists', 'refresh')).out, /1 name in total/);
  assert.match((await run('lists', 'add', 'N', 'https://n.example/')).out, /names? in total/);
  const use = ['--action', 'allow', '--match', 'exact', '--allow-wide'];
  assert.equal((await run('lists', 'add', 'Wide', 'https://w.example/', ...use)).code, 0);
  const source = { name: 'Wide', url: 'https://w.example/', format: 'auto', enabled: true };
  const isWide = ({ name }: { name: string }) => name === 'Wide';
  assert.deepEqual(store.config.lists.find(isWide), {
    ...{ ...source, action: 'allow', match: 'exact', allowWide: true },
  });
  assert.equal((await run('lists', 'change', 'Wide', '--action', 'block')).code, 0);
  assert.deepEqual(store.config.lists.find(isWide), { ...source, match: 'exact', allowWide: true });
  await run('lists', 'change', 'Wide', '--match', 'subdomains', '--no-allow-wide');
  assert.deepEqual(store.config.lists.find(isWide), source);
  assert.match((await run('lists', 'change', 'Wide')).err, /write --action, --match or/);
  assert.equal((await run('lists', 'change', 'None', '--allow-wide')).code, 1);
  assert.equal((await run('lists', 'add', 'X', 'https://x.example/', '--action', 'no')).code, 2);
  assert.match((await run('lists', 'disable', 'N')).out, /names? in total/);
  assert.match((await run('lists', 'remove', 'N')).out, /names? in total/);
  assert.equal(
    (await run('cache', 'inspect', 'x.example')).out,
    'Nothing is cached for x.example.\n',
  );
  assert.equal((await run('cache', 'flush', 'x.example', '--below')).out, 'Cleared 2 answers.\n');
  assert.equal((await run('cache', 'flush')).out, 'Cleared 0 answers.\n');
  assert.equal((await run('open')).out, `${http}/#token=${token.value}\n`);
  const status = JSON.parse((await run('--json', 'status')).out) as { version: string };
  assert.equal(status.version, '1.2.3');
});

test('imports, backups and the catalogue', async (t) => {
  const { folder, lists } = await openDoors(t);
  const run = (...argv: string[]) => sluice('--data-dir', folder, ...argv);
  const hosts = join(folder, 'hosts');
  await writeFile(hosts, '0.0.0.0 bad.example\n192.168.1.2 nas.lan\nnot/a/rule\n');
  const preview = await run('import', hosts, '--dry-run');
  assert.match(preview.out, /^list of names: can be imported\n {2}1 rules: \|bad\.example\^\n/);
  assert.match(preview.out, /\nskipped:\n {2}1 rules: /);
  assert.equal((await run('rules')).out, 'no rules\n');
  assert.match((await run('import', hosts, '--only', 'rules')).out, /imported[^]*not asked for/);
  assert.equal((await run('rules')).out, '|bad.example^\n');
  assert.equal((await run('import', hosts, '--only', 'nothing')).code, 2);
  assert.match((await run('import', join(folder, 'none'))).err, /none cannot be read/);

  const pihole = join(folder, 'pihole.toml');
  await writeFile(pihole, '[dns]\n  upstreams = ["192.0.2.53"]\n');
  assert.match(
    (await run('import', pihole, '--dry-run')).out,
    /\n {2}1 upstreams, replaces 4 current servers: 192\.0\.2\.53/,
  );

  const backup = join(folder, 'backup.json');
  assert.equal((await run('settings', 'export', backup)).out, `Written to ${backup}.\n`);
  await run('rules', 'remove', '|bad.example^');
  assert.match(
    (await run('settings', 'import', backup)).out,
    /^Restored the settings, with 1 list;/,
  );
  assert.equal((await run('rules')).out, '|bad.example^\n');

  assert.match(
    (await run('lists', 'catalogue')).out,
    /^id +category +size[^]*\nstevenblack +general/,
  );
  assert.match((await run('lists', 'add', '--from-catalogue', 'urlhaus')).out, /names? in total/);
  assert.match((await run('lists', 'catalogue')).out, /urlhaus +malware +small +CC0 +added/);
  assert.equal((await run('lists', 'add', 'OnlyName')).code, 2);
  await run('lists', 'accept', 'Starter');
  await run('lists', 'rollback', 'Starter');
  assert.deepEqual([lists.accepted, lists.rolledBack], [['Starter'], ['Starter']]);
});

test('errors are one line with what to do, exit code 1; wrong usage is exit code 2', async (t) => {
  const { folder } = await openDoors(t);
  const run = (...argv: string[]) => sluice('--data-dir', folder, ...argv);
  const failed = await run('rules', 'remove', 'none.example');
  assert.equal(failed.code, 1);
  assert.match(
    failed.err,
    /^sluice: .*none\.example.* \(use a rule from the rules section .*\)\n$/,
  );
  const unknown = await run('rules', 'remove', 'nothere');
  assert.deepEqual([unknown.code, /no such rule: nothere/.test(unknown.err)], [1, true]);
  const wrongRule = await run('rules', 'add', '||com^');
  assert.equal(wrongRule.err.match(/write \|\|name\^/g)?.length, 1, wrongRule.err);
  assert.match((await run('pause', 'x')).err, /^sluice: minutes: "x" is not allowed, write a/);
  for (const argv of [
    ...[['nope'], ['check'], ['check', '192.0.2.1'], ['status', '--nope']],
    ...[
      ['pause', 'x'],
      ['pause', '0'],
      ['pause', '99999999'],
      ['rules', 'add', '||com^'],
    ],
  ]) {
    const { code, err } = await run(...argv);
    assert.equal(code, 2, argv.join(' '));
    assert.match(err, /^sluice: .*\n$/, argv.join(' '));
  }
});

test('--version, and a description of every command', async () => {
  assert.match((await sluice('--version')).out, /^\d+\.\d+\.\d+\n$/);
  for (const group of ['rules', 'lists']) {
    const { out } = await sluice(group, '--help');
    const commands = out.slice(out.indexOf('Commands:')).split('\n').slice(1, -1);
    assert.ok(commands.length > 3);
    for (const line of commands) assert.match(line, /^ {2}\S+.* {2,}\S|^ {4,}\S/, line);
  }
});

test('tail prints rows as they come and ends with the instance', async (t) => {
  const { folder, service, clock, controlDoor } = await openDoors(t);
  const tail = sluice('--data-dir', folder, 'tail');
  const depth = async () =>
    (await service.call('status', {})).queues.find(({ name }) => name === 'live subscribers')
      ?.depth;
  while ((await depth()) !== 1) await new Promise((resolve) => setTimeout(resolve, 5));
  const row = { timeMs: 0, outcome: 'blocked', typeName: 'A', name: 'ads.example', client: '::1' };
  service.rowsLogged(
    [{ ...row, durationUs: 12, list: 'L', matchedName: 'ads.example' } as never],
    3,
  );
  clock.advance(250);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await controlDoor.close();
  const { out } = await tail;
  assert.match(
    out,
    /^\d{4}-\d\d-\d\d \d\d:\d\d:00\.000 blocked {3}A {5}ads\.example {2}::1 {2}12 µs {2}L: ads\.example\n/,
  );
  assert.match(out, /… 3 more\n/);
});

test('the data folder of root, of others, and as told', () => {
  assert.equal(defaultDataDirectory({}, 0), '/var/lib/sluice');
  assert.equal(defaultDataDirectory({ SLUICE_DATA_DIR: '/x' }, 0), '/x');
  assert.equal(defaultDataDirectory({ XDG_DATA_HOME: '/d' }, 1000), '/d/sluice');
  assert.match(defaultDataDirectory({}, 1000), /\/\.local\/share\/sluice$/);
});

test('allow and block, for a while and for a client; check tells it in words', async (t) => {
  const doors = await openDoors(t);
  const run = (...argv: string[]) => sluice('--data-dir', doors.folder, ...argv);
  const allowed = await run('allow', 'https://x.listed.example/a', '--for', '2h');
  assert.match(allowed.out, /^@@\|\|x\.listed\.example\^ \(until /);
  const check = await run('check', 'x.listed.example', '--client', '192.0.2.7');
  assert.match(check.out, /^x\.listed\.example: allowed\n.*120 minutes left/);
  assert.match(
    check.out,
    /\n {2}\* allow {4}rules {2}@@\|\|x\.listed\.example\^ {2}\(temporary\)\n/,
  );
  const blocked = await run('block', 'a.example', '--client', '192.0.2.7');
  assert.match(blocked.out, /\|\|a\.example\^\$client=192\.0\.2\.7/);
  assert.match((await run('check', 'a.example')).out, /\n {2}- block .*only client 192\.0\.2\.7/);
  const found = await run('--json', 'check', 'a.example', '--client', '192.0.2.7');
  assert.equal((JSON.parse(found.out) as { decision: string }).decision, 'blocked');
  for (const span of ['0', '25h', 'x', '1.5']) {
    assert.equal((await run('allow', 'a.example', '--for', span)).code, 2, span);
  }
  assert.equal((await run('allow', '192.0.2.1')).code, 2);
});

test('system DNS: takeover, network and restore through the instance', async (t) => {
  const { folder, systemDns } = await openDoors(t);
  const run = (...argv: string[]) => sluice('--data-dir', folder, ...argv);
  assert.match(
    (await run('takeover')).out,
    /^on: this computer uses Sluice: wlan0 through systemd-resolved\n$/,
  );
  assert.match((await run('network')).out, /^on: .*\nno DNS manager found\n/);
  assert.equal((await run('restore')).out, 'as before\n');
  assert.equal(systemDns.state.phase, 'off');
  systemDns.failure = 'probe: no answer';
  const refused = await run('takeover');
  assert.deepEqual([refused.code, refused.out], [1, '']);
  assert.match(
    refused.err,
    /^sluice: probe: no answer \(look at the reason; .* as it was before\)\n/,
  );
});

test('restore works when nobody runs, from the journal alone', async (t) => {
  const folder = await tempDir(t);
  const before = process.env['SLUICE_JOURNAL_DIR'];
  t.after(() => {
    if (before === undefined) delete process.env['SLUICE_JOURNAL_DIR'];
    else process.env['SLUICE_JOURNAL_DIR'] = before;
  });
  process.env['SLUICE_JOURNAL_DIR'] = join(folder, 'journal');
  for (const argv of [['restore'], ['restore', '--only-leftovers']]) {
    const { code, out } = await sluice('--data-dir', folder, ...argv);
    assert.deepEqual([code, out], [0, 'the resolver was not taken over\n']);
  }
  const json = await sluice('--data-dir', folder, '--json', 'restore');
  assert.equal((JSON.parse(json.out) as { outcome: string }).outcome, 'nothing');
});
