/**
 * The part of the kill test that runs inside a sandbox, for one kind of owner. Started by kill.ts;
 * prints one line of JSON per run. Arguments: flavour, folder of the
 * journal, seed, count.
 *
 * Each run: the app takes over (and, for some moments, gives back); at the chosen moment the victim
 * dies; then the system's stub must find a name outside within BOUND_MS, and everything the owner
 * keeps must be as it was before. Where nobody is left to do that, the next start does.
 */
import { execFileSync } from 'node:child_process';
import * as fs from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { isAlive, markOf } from '../../main/system-dns/process-mark.ts';
import { systemOwners } from '../../main/system-dns/owners.ts';
import {
  ENGINE_ADDRESS,
  Machine,
  OUTSIDE_ADDRESS,
  enginePort,
  timeToResolve,
  until,
  type Flavour,
} from '../../test/system-dns/support/machine.ts';
import { App } from './app.ts';
import { drawRuns, type Run } from './plan.ts';

export interface RunResult extends Run {
  readonly flavour: Flavour;
  readonly index: number;
  /** Until a name was found again; what the next start needed, where that gave back. */
  readonly resolvedMs: number;
  readonly by: 'nobody needed' | 'guardian' | 'app' | 'next start';
  /** '' when the run went as it must. */
  readonly failure: string;
}

const BOUND_MS = 2_000;
/** The state may trail the first answer a little: the second link, the file's attribute. */
const STATE_MS = 2_000;
/** Time in which an app that was woken might do harm. */
const WOKEN_MS = 1_500;
const RESTORE = fileURLToPath(new URL('../../test/system-dns/support/restore.ts', import.meta.url));

const [flavour, directory, seed, count] = process.argv.slice(2) as [
  Flavour,
  ...[string, string, string],
];
const machine = new Machine(flavour);
const ownerName = flavour.startsWith('resolv.conf') ? 'resolv.conf' : flavour;
const owner = systemOwners().find(({ name }) => name === ownerName);
if (!owner) throw new Error(`no owner ${ownerName}`);

/** Everything that must be as before, as text. */
async function snapshot(): Promise<string> {
  const items = await owner!.capture();
  const state = items
    .map(({ label, properties }) => ({ label, properties }))
    .sort((one, other) => one.label.localeCompare(other.label));
  const file = fs.lstatSync('/etc/resolv.conf');
  const near = fs.readdirSync('/etc').filter((name) => name.includes('sluice'));
  const text = fs.readFileSync('/etc/resolv.conf', 'latin1');
  const lines = text.split('\n').filter((line) => /^(nameserver|search|options)/.test(line));
  const servers = ownerName === 'systemd-resolved' ? [] : lines;
  // resolved writes its file anew, in any order; the others' must say the same, and one that
  // nobody owns must be the very same file.
  const inode = ownerName === 'resolv.conf' ? file.ino : 0;
  return JSON.stringify({
    state,
    mode: file.mode,
    uid: file.uid,
    gid: file.gid,
    inode,
    near,
    servers,
  });
}

async function strike(app: App, { victim, moment }: Run): Promise<void> {
  // A busy main thread hears no command any more, so what ends the engine is said before.
  const endsEngine = victim.startsWith('engine');
  if (endsEngine) app.say(victim === 'engine ended' ? 'end-engine' : 'hang');
  if (moment === 'running busy') app.say('busy');
  if (moment === 'running busy' && !endsEngine) await delay(100);
  const guardians = app.guardians.slice(-1);
  switch (victim) {
    case 'app killed':
      process.kill(app.pid, 'SIGKILL');
      break;
    case 'app stopped':
    case 'app stopped, woken later':
      process.kill(app.pid, 'SIGSTOP');
      break;
    case 'engine ended':
    case 'engine hung':
      break;
    case 'guardian killed':
      for (const pid of guardians) process.kill(pid, 'SIGKILL');
      break;
    case 'both killed':
    case 'power cut':
      for (const pid of [...guardians, app.pid]) process.kill(pid, 'SIGKILL');
      if (victim === 'power cut') await machine.cutPower();
      break;
  }
}

/** Brings the app to the moment of the run. */
async function reach(app: App, { moment }: Run): Promise<void> {
  await app.saw('ready', ({ event }) => event === 'ready');
  const [phase = '', step = ''] = moment.split(':');
  const held = ({ event, data }: { event: string; data: unknown }): boolean =>
    event === 'held' && String(data).startsWith(step);
  if (phase === 'taking') app.say(`hold ${step}`);
  app.say('on');
  if (phase === 'taking') {
    await app.saw(`held at ${step}`, held);
    return;
  }
  const taken = await app.done('on');
  if (taken.event !== 'done') throw new Error(`the takeover failed: ${JSON.stringify(taken.data)}`);
  const viaEngine = await timeToResolve(ENGINE_ADDRESS, BOUND_MS);
  if (viaEngine === Infinity) throw new Error('taken over, but names do not come from the engine');
  if (phase !== 'giving') return;
  app.say(`hold ${step}`);
  app.say('off');
  await app.saw(`held at ${step}`, held);
}

async function oneRun(run: Run, index: number): Promise<RunResult> {
  const before = await snapshot();
  const app = new App(directory, enginePort(flavour));
  let resolvedMs = NaN;
  let by: RunResult['by'] = 'guardian';
  let failure = '';
  try {
    await reach(app, run);
    await strike(app, run);
    const isNextStart = run.victim === 'both killed' || run.victim === 'power cut';
    if (isNextStart) {
      by = 'next start';
      if (run.victim === 'power cut') await bootAfterCut();
      else nextStart();
    }
    const survives = run.victim === 'guardian killed';
    if (survives) {
      by = 'app';
      await goOnWithoutGuardian(app, run);
    }
    resolvedMs = await timeToResolve(OUTSIDE_ADDRESS, BOUND_MS);
    if (resolvedMs === Infinity) failure = `no name was found within ${String(BOUND_MS)} ms`;
    else await until('the state of before', async () => (await snapshot()) === before, STATE_MS);
    if (failure === '' && run.victim === 'app stopped, woken later') await wake(app, run, before);
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
  }
  if (failure !== '') {
    const now = await snapshot().catch(String);
    failure += `; before ${before}; now ${now}; app ${JSON.stringify(app.log.slice(-3))}`;
  }
  await cleanUp(app);
  return { ...run, flavour, index, resolvedMs: Math.round(resolvedMs), by, failure };
}

/** An app that goes on where it was, after its guardian gave back, must not take over again. */
async function wake(app: App, { moment }: Run, before: string): Promise<void> {
  const guardian = app.guardians.at(-1);
  if (guardian !== undefined) {
    await until('the guardian to act', () => !isAlive(markOf(guardian)), 5_000);
  }
  process.kill(app.pid, 'SIGCONT');
  app.say('release');
  if (guardian === undefined) {
    // It was stopped before it had changed anything: it goes on, and gives back when told to.
    await app.done('on');
    app.say('off');
    await app.done('off');
  } else if (!moment.includes('busy')) {
    app.say('state');
    await app.done('state');
  }
  await delay(WOKEN_MS);
  await until('the state of before, woken', async () => (await snapshot()) === before, STATE_MS);
  if ((await timeToResolve(OUTSIDE_ADDRESS, BOUND_MS)) === Infinity) throw new Error('no answer');
}

/** The app goes on, with a new guardian, and gives back when it is told to. */
async function goOnWithoutGuardian(app: App, { moment }: Run): Promise<void> {
  if (moment.includes('busy')) {
    // Its main thread is stuck and its guardian dead, but the engine answers: names are found.
    if ((await timeToResolve(ENGINE_ADDRESS, BOUND_MS)) === Infinity) throw new Error('no answer');
    process.kill(app.pid, 'SIGKILL');
    nextStart();
    return;
  }
  app.say('release');
  if (moment.startsWith('giving')) {
    await app.done('off');
    return;
  }
  const taken = await app.done('on');
  if (taken.event !== 'done') throw new Error(`the takeover failed: ${JSON.stringify(taken.data)}`);
  const latest = (): number => app.guardians.at(-1) ?? 0;
  await until('a living guardian', () => isAlive(markOf(latest())), 5_000);
  app.say('off');
  await app.done('off');
}

function nextStart(): void {
  execFileSync(process.execPath, [RESTORE, directory], { encoding: 'utf8' });
}

async function bootAfterCut(): Promise<void> {
  // The unit that gives back at boot runs when the owner is up, before anybody needs names.
  const booting = machine.boot();
  await delay(300);
  try {
    nextStart();
  } catch {
    // The owner was not up yet: the unit is started again.
  }
  await until('the owner', () => ready(), 20_000);
  nextStart();
  await booting;
  nextStart();
}

async function ready(): Promise<boolean> {
  return owner!.capture().then(
    (items) => items.length > 0,
    () => false,
  );
}

async function cleanUp(app: App): Promise<void> {
  await app.end();
  for (const pid of app.guardians) {
    if (!isAlive(markOf(pid))) continue;
    await until('the guardian to end', () => !isAlive(markOf(pid)), 10_000).catch(() => {
      process.kill(pid, 'SIGKILL');
    });
  }
  try {
    nextStart();
  } catch {
    // Told by the run that failed.
  }
}

machine.install();
await machine.boot();
for (const [index, run] of drawRuns(Number(seed), Number(count)).entries()) {
  process.stdout.write(`${JSON.stringify(await oneRun(run, index))}\n`);
}
process.exit(0);
