/**
 * `sluice run` as a real process: the ready line, signals, exit codes, and what survives.
 */
import assert from 'node:assert/strict';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { readFile, readdir, stat, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { MethodInput, MethodName, MethodOutput } from '../../main/contract/methods/methods.ts';
import { authorization } from '../support/api.ts';
import { askUdp } from '../support/dns-client.ts';
import { makeHome, settings, Sluice } from './start-source.ts';

async function call<Name extends MethodName>(
  http: string,
  name: Name,
  input: MethodInput<Name>,
): Promise<MethodOutput<Name>> {
  const response = await fetch(`${http}/api/${name}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...authorization(http) },
    body: JSON.stringify(input),
  });
  const value = (await response.json()) as MethodOutput<Name>;
  assert.equal(response.status, 200, JSON.stringify(value));
  return value;
}

test('ready, answers, SIGTERM: the log is drained and nothing is left running', async (t) => {
  const home = await makeHome(t);
  const first = home.run();
  const { dns, http } = await first.ready();
  assert.match(first.out, /^ready dns=127\.0\.0\.1:\d+ http=127\.0\.0\.1:\d+\n$/);
  const answer = await askUdp(dns, 'a.listed.example');
  assert.equal((answer.answers?.[0] as { data?: string } | undefined)?.data, '0.0.0.0');
  for (let index = 0; index < 20; index++) await askUdp(dns, `n${String(index)}.listed.example`);
  assert.equal((await call(http, 'status', {})).totals.blocked, 21);
  assert.equal((await stat(home.dataDirectory)).mode & 0o777, 0o700);
  first.kill('SIGTERM');
  assert.equal(await first.exited, 0);
  assert.ok(!(await readdir(home.dataDirectory)).includes('run.json'));

  const second = home.run();
  const { http: again } = await second.ready();
  const { rows } = await call(again, 'queries.search', { limit: 50 });
  assert.equal(rows.length, 21, 'every answer of the first run is in the log');
  second.kill('SIGINT');
  assert.equal(await second.exited, 0);
});

test('kill -9: the next start is not blocked; settings and pause are as they were', async (t) => {
  const home = await makeHome(t);
  const first = home.run();
  const { http } = await first.ready();
  await call(http, 'rules.add', { rule: '||mine.example^' });
  const { resumesAtMs } = await call(http, 'pause', { minutes: 60 });
  first.kill('SIGKILL');
  await first.exited;
  const second = home.run();
  const { http: again, dns } = await second.ready();
  const { protection } = await call(again, 'status', {});
  assert.deepEqual(protection, { state: 'paused', resumesAtMs });
  await call(again, 'resume', {});
  const answer = await askUdp(dns, 'x.mine.example');
  assert.equal((answer.answers?.[0] as { data?: string } | undefined)?.data, '0.0.0.0');
  assert.match(await readFile(home.configFile, 'utf8'), /^# a comment of mine\n/);
});

test('a second instance on the same folder is refused and does no harm', async (t) => {
  const home = await makeHome(t);
  const first = home.run();
  const { http } = await first.ready();
  const second = home.run();
  assert.equal(await second.exited, 1);
  assert.match(second.err, new RegExp(`process id ${String(first.child.pid)}`));
  assert.equal((await call(http, 'status', {})).health, 'ok');
});

test('a bad setting: one line, exit code 2, the file left alone', async (t) => {
  const home = await makeHome(t, 'blocking: { ttlSecond: 5 }\n');
  const one = home.run();
  assert.equal(await one.exited, 2);
  assert.equal(one.out, '');
  assert.match(
    one.err,
    /^sluice: \S+sluice\.yaml:5: blocking\.ttlSecond: unknown key, the nearest known one is "ttlSeconds"\n$/,
  );
  assert.match(await readFile(home.configFile, 'utf8'), /ttlSecond: 5/);
});

for (const argv of [['--nope'], ['--listen', 'here'], ['--http', '8053'], ['extra']]) {
  test(`run ${argv.join(' ')}: wrong usage, one line, exit code 2`, async (t) => {
    const home = await makeHome(t);
    const one = home.run(...argv);
    assert.equal(await one.exited, 2);
    assert.match(one.err, /^sluice: [^\n]+\n$/);
  });
}

test('a DNS port that is taken: exit code 3, and who has it', async (t) => {
  const home = await makeHome(t);
  const socket = createSocket('udp4').bind(0, '127.0.0.1');
  await once(socket, 'listening');
  t.after(() => socket.close());
  const one = home.run('--listen', `127.0.0.1:${String(socket.address().port)}`);
  assert.equal(await one.exited, 3);
  assert.match(one.err, new RegExp(`process ${String(process.pid)}\\b`));
  assert.ok(!(await readdir(home.dataDirectory)).includes('run.json'));
});

test('an HTTP port that is taken: exit code 3, and who has it; with a fallback another', async (t) => {
  const home = await makeHome(t);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const address = `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const one = home.run('--http', address);
  assert.equal(await one.exited, 3);
  assert.match(one.err, new RegExp(`process ${String(process.pid)}\\b`));
  assert.equal(one.out, '');
  const other = home.run('--http', address, '--port-fallback');
  const { http } = await other.ready();
  assert.notEqual(http, `http://${address}`);
});

test('SIGHUP takes changed settings; a mistake keeps the former ones and says why', async (t) => {
  const home = await makeHome(t);
  const one = home.run();
  const { http } = await one.ready();
  await writeFile(home.configFile, settings(home.folder, 'rules: ["||new.example^"]\n'));
  one.kill('SIGHUP');
  await one.prints(/settings read again/);
  assert.deepEqual((await call(http, 'rules.list', {})).rules, ['||new.example^']);
  await writeFile(home.configFile, settings(home.folder, 'rules: 5\n'));
  one.kill('SIGHUP');
  await one.prints(/former settings stay in use: .*rules: 5 is not allowed/);
  const { health, degradedReasons } = await call(http, 'status', {});
  assert.equal(health, 'degraded');
  assert.match(degradedReasons.join(), /rules: 5 is not allowed/);
  assert.deepEqual((await call(http, 'rules.list', {})).rules, ['||new.example^']);
});

test('a signal before the program is ready stops it cleanly', async (t) => {
  const home = await makeHome(t);
  const one = home.run();
  await one.prints(/settings /);
  one.kill('SIGTERM');
  assert.equal(await one.exited, 0);
  assert.equal(one.out, '');
  assert.ok(!(await readdir(home.dataDirectory)).includes('run.json'));
});

test('the command line finds the running instance', async (t) => {
  const home = await makeHome(t);
  const one = home.run();
  await one.ready();
  const status = new Sluice(['--data-dir', home.dataDirectory, '--json', 'status']);
  assert.equal(await status.exited, 0);
  assert.equal((JSON.parse(status.out) as { health: string }).health, 'ok');
  const check = new Sluice(['check', 'www.listed.example', '--data-dir', home.dataDirectory]);
  assert.equal(await check.exited, 0);
  assert.match(check.out, /^www\.listed\.example: blocked\n.*the list "Test"/);
});

test('a first start without settings makes them', async (t) => {
  const home = await makeHome(t);
  const data = join(home.folder, 'fresh');
  const one = home.run(
    '--data-dir',
    data,
    '--config',
    join(data, 'sluice.yaml'),
    '--listen',
    '127.0.0.1:0',
    '--http',
    '127.0.0.1:0',
  );
  await one.ready();
  assert.match(one.err, /settings \S+ \(new, made from the template\)/);
  assert.match(await readFile(join(data, 'sluice.yaml'), 'utf8'), /^# Settings of Sluice\./);
});

test('killed at random moments while rules are edited: every start finds whole settings', async (t) => {
  const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000);
  t.diagnostic(`seed ${String(seed)}`);
  const home = await makeHome(t);
  let known: string[] = [];
  for (let round = 0; round < 4; round++) {
    const one = home.run();
    const { http } = await one.ready();
    const { rules } = await call(http, 'rules.list', {});
    for (const rule of known) assert.ok(rules.includes(rule), `${rule} was answered and is gone`);
    known = rules;
    const killAfterMs = ((seed * (round + 1) * 7_919) % 400) + 20;
    setTimeout(() => one.kill('SIGKILL'), killAfterMs);
    for (let index = 0; ; index++) {
      const rule = `||r${String(round)}-${String(index)}.example^`;
      try {
        await call(http, 'rules.add', { rule });
        known.push(rule);
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        break; // killed
      }
    }
    await one.exited;
  }
  assert.ok(known.length > 4);
});

test('with a fallback allowed, port 53 that cannot be had becomes 5353, and that is said', async (t) => {
  const home = await makeHome(t);
  const holder = createSocket('udp4').on('error', () => undefined); // without the right: forbidden
  holder.bind(53, '127.153.53.53');
  t.after(() => holder.close());
  const one = home.run('--listen', '127.153.53.53:53', '--port-fallback');
  const { dns } = await one.ready();
  assert.match(dns, /^127\.153\.53\.53:(5353|15353)$/);
  assert.match(one.err, /cannot listen on 127\.153\.53\.53:53 .*; trying port 5353/);
  assert.match(one.err, /try: dig @127\.153\.53\.53 -p 1?5353 doubleclick\.net/);
  const strict = home.run('--listen', '127.153.53.53:53', '--data-dir', join(home.folder, 'other'));
  assert.equal(await strict.exited, 3);
});

test('the second signal ends it at once', async (t) => {
  const home = await makeHome(t);
  const one = home.run();
  await one.ready();
  process.kill(one.child.pid ?? 0, 'SIGSTOP'); // both signals are waiting when it goes on
  one.kill('SIGTERM');
  one.kill('SIGINT');
  process.kill(one.child.pid ?? 0, 'SIGCONT');
  assert.equal(await one.exited, 1);
});

test('a signal that reaches it twice, from a terminal and handed on, ends it cleanly', async (t) => {
  const home = await makeHome(t);
  const one = home.run();
  await one.ready();
  one.kill('SIGTERM');
  await one.prints(/SIGTERM: stopping/);
  one.kill('SIGTERM');
  assert.equal(await one.exited, 0);
});

test('a named settings file that is missing is a mistake, and none is made', async (t) => {
  const home = await makeHome(t);
  const missing = join(home.folder, 'typo.yaml');
  const one = home.run('--config', missing);
  assert.equal(await one.exited, 2);
  assert.match(one.err, /there is no settings file \S+typo\.yaml/);
  assert.ok(!(await readdir(home.folder)).includes('typo.yaml'));
});

test('lists add waits for the list, and says whether it is in use', async (t) => {
  const home = await makeHome(t);
  const one = home.run();
  await one.ready();
  const add = (name: string, url: string) =>
    new Sluice(['lists', 'add', name, url, '--data-dir', home.dataDirectory]);
  await writeFile(join(home.folder, 'more.txt'), 'more.example\n');
  const good = add('More', `file://${home.folder}/more.txt`);
  assert.equal(await good.exited, 0, good.err);
  assert.match(good.out, /^More +ok +domains +1 /m);
  const bad = add('Gone', `file://${home.folder}/gone.txt`);
  assert.equal(await bad.exited, 1);
  assert.match(bad.err, /^sluice: list "Gone" is in the settings now, but not in use: \S/);
  assert.match(one.err, /^sluice: list "Gone" failed: /m);
});

test('the data folder may be named before the command', async (t) => {
  const home = await makeHome(t);
  const listen = ['run', '--listen', 'nowhere'];
  const sluice = new Sluice(['--data-dir', home.dataDirectory, ...listen]);
  assert.equal(await sluice.exited, 2);
  assert.match(sluice.err, /nowhere is no address to listen on/);
});
