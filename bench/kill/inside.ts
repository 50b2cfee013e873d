/**
 * The part of the kill test that runs inside a sandbox, for one kind of owner. Started by kill.ts;
 * prints one line of JSON per run. Arguments: flavour, folder of the sandbox, seed, count.
 *
 * Each run: the app takes over (and, for some moments, gives back); at the chosen moment the victim
 * dies; then the system's stub must find a name outside within BOUND_MS, and everything the owner
 * keeps must be as it was before. Where nobody is left to do that, the next start does. Afterwards
 * no process of ours may be left.
 */
import * as fs from 'node:fs';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { isAlive, markOf, type ProcessMark } from '../../main/system/process-mark.ts';
import {
  ENGINE_ADDRESS,
  Machine,
  OUTSIDE_ADDRESS,
  enginePort,
  timeToResolve,
  until,
  type Flavour,
} from '../../test/system-dns/support/machine.ts';
import { swapDisk, syncDisk } from '../../test/system-dns/support/sandbox.ts';
import { App, type CallEnd, type Folders } from './app.ts';
import { NextStart } from './next-start.ts';
import { drawRuns, randomFrom, type Run } from './plan.ts';
import { MachineState } from './state.ts';

export interface RunResult extends Run {
  readonly flavour: Flavour;
  readonly index: number;
  /**
   * Milliseconds until a name was found again: from the blow, or, where the next start had to give
   * back, from the moment at which that was launched.
   */
  readonly resolvedMs: number;
  /** The same until everything was as before; null where the app lived and gave back when told to. */
  readonly restoredMs: number | null;
  readonly by: 'guardian' | 'app' | 'next start';
  /** '' when the run went as it must. */
  readonly failure: string;
}

const BOUND_MS = 2_000;
/** The state may trail the first answer a little: the second link, the file's attribute. */
const STATE_MS = 2_000;
const LATE_MS = 5_000;
/** Time in which an app that was woken might do harm. */
const WOKEN_MS = 1_500;
const CALL_MS = 15_000;
/** Within these times a pause and an update are over. */
const PAUSING_MS = 20;
const UPDATING_MS = 400;
/** From the order to a thread until it obeys: nearly at once, or when the main thread is stuck. */
const HURT_MS = 20;
const BUSY_MS = 800;
const LIST_PORT = 8099;
const LIST_NAMES = 20_000;
/** Below it names get ENGINE_ADDRESS from our engine, and OUTSIDE_ADDRESS without it. */
const MARKED = 'engine.example';

const [flavour, folder, seed, count] = process.argv.slice(2) as [
  Flavour,
  ...[string, string, string],
];
const folders: Folders = {
  data: `${folder}/state/data`,
  journal: `${folder}/state/journal`,
  hold: '/run/kill-test',
};
const machine = new Machine(flavour);
const state = new MachineState(flavour);
const nextStart = new NextStart(folders);
const random = randomFrom(Number(seed) + 1);

/** Where the app stands when the blow falls. */
interface Standing {
  readonly app: App;
  /** The call that is held or under way; null when there is none. */
  readonly call: Promise<CallEnd> | null;
}

/** Brings the app to the moment of the run. */
async function reach(app: App, { moment }: Run): Promise<Standing> {
  const [phase = '', step = ''] = moment.split(':');
  if (phase === 'taking') return { app, call: (await app.callAndHold('takeover', step)).end };
  const { error } = await app.call('takeover');
  if (error !== '') throw new Error(`the takeover failed: ${error}`);
  const viaEngine = await timeToResolve(ENGINE_ADDRESS, BOUND_MS, MARKED);
  if (viaEngine === Infinity) throw new Error('taken over, but names do not come from the engine');
  if (phase === 'giving') return { app, call: (await app.callAndHold('restore', step)).end };
  // These two go on for a time by chance.
  const call =
    moment === 'pausing'
      ? app.call('pause')
      : moment === 'updating a list'
        ? app.call('lists.refresh')
        : null;
  if (call) await delay(random() * (moment === 'pausing' ? PAUSING_MS : UPDATING_MS));
  return { app, call };
}

async function strike(app: App, guardian: number, { victim, moment }: Run): Promise<void> {
  // A main thread that stands still passes nothing on to the engine, so that is told first; but it
  // dies last, or it would be started again.
  const isBusy = moment === 'running busy';
  const engineAfterMs = isBusy ? BUSY_MS : HURT_MS;
  if (victim === 'engine ended') await app.hurt('engine throws', engineAfterMs);
  if (victim === 'engine hung') await app.hurt('engine hangs', engineAfterMs);
  const untilMs = performance.now() + engineAfterMs;
  if (isBusy) await app.hurt('main hangs', HURT_MS);
  if (victim.startsWith('engine') || isBusy) await delay(untilMs - performance.now() + HURT_MS);
  const both = [app.pid, ...(guardian === 0 ? [] : [guardian])];
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
    case 'guardian stopped':
      if (guardian !== 0) process.kill(guardian, victim.endsWith('killed') ? 'SIGKILL' : 'SIGSTOP');
      break;
    case 'both killed':
    case 'power cut':
      // Stopped first, so that neither can answer the other's end.
      for (const pid of both) process.kill(pid, 'SIGSTOP');
      for (const pid of both) process.kill(pid, 'SIGKILL');
      await until('both to end', () => both.every((pid) => !isAlive(markOf(pid))), 2_000);
      if (victim === 'power cut') {
        await machine.cutPower(() => {
          swapDisk(folder);
        });
      }
      break;
  }
}

/** Who has to give back after that blow. */
function rescuer({ victim, moment }: Run): RunResult['by'] {
  if (victim === 'both killed' || victim === 'power cut') return 'next start';
  if (victim.startsWith('guardian')) return 'app';
  return victim === 'engine ended' && moment !== 'running busy' ? 'app' : 'guardian';
}

interface Recovery {
  /** Of performance.now: the blow, or the launch of the next start. */
  readonly fromMs: number;
  readonly resolvedMs: number;
}

/** @throws what went wrong */
async function recovery(run: Run, standing: Standing, guardian: number): Promise<Recovery> {
  let fromMs = performance.now();
  if (run.victim === 'power cut') await bootAfterCut();
  if (rescuer(run) === 'next start') fromMs = performance.now();
  return { fromMs, resolvedMs: await found(run, standing, guardian) };
}

/** @returns milliseconds until a name was found */
async function found(run: Run, standing: Standing, guardian: number): Promise<number> {
  const { app } = standing;
  switch (rescuer(run)) {
    case 'next start':
      return inTime(nextStart.run(random() < 0.5 ? 'program' : 'command'));
    case 'guardian':
      return inTime();
    case 'app': {
      const foundMs = within(await timeToResolve(OUTSIDE_ADDRESS, BOUND_MS));
      if (run.moment === 'running busy') await endBoth(app, guardian);
      else await goOn(run, standing, guardian);
      within(await timeToResolve(OUTSIDE_ADDRESS, BOUND_MS, MARKED));
      return foundMs;
    }
  }
}

/** Until the machine asks its own servers again. */
async function inTime(meanwhile: Promise<void> = Promise.resolve()): Promise<number> {
  const [foundMs] = await Promise.all([
    timeToResolve(OUTSIDE_ADDRESS, BOUND_MS, MARKED),
    meanwhile,
  ]);
  return within(foundMs);
}

function within(foundMs: number): number {
  if (foundMs > BOUND_MS) throw new Error(`no name was found within ${String(BOUND_MS)} ms`);
  return foundMs;
}

/** Its main thread stands still, but its engine answered: until somebody ends it. */
async function endBoth(app: App, guardian: number): Promise<void> {
  if (guardian !== 0 && isAlive(markOf(guardian))) process.kill(guardian, 'SIGKILL');
  await app.end();
  await nextStart.run('command');
}

/** The app lost its guardian or its engine: it goes on, and gives back when it is told to. */
async function goOn({ victim, moment }: Run, { app, call }: Standing, lost: number): Promise<void> {
  app.release();
  const end = await settled(call);
  if (end.error !== '' && victim !== 'engine ended') throw new Error(`it failed: ${end.error}`);
  if (victim === 'guardian killed' && lost !== 0 && !moment.startsWith('giving')) {
    const isNew = (): boolean => app.guardian !== 0 && app.guardian !== lost;
    await until('another guardian', isNew, 5_000);
  }
  await giveBack(app);
}

async function giveBack(app: App): Promise<void> {
  const { value, error } = await app.call('restore');
  const { outcome, detail } = (value ?? {}) as { outcome?: string; detail?: string };
  if (error !== '' || outcome === 'partly') throw new Error(`restore: ${error} ${String(detail)}`);
}

async function settled(call: Promise<CallEnd> | null): Promise<CallEnd> {
  const late = delay(CALL_MS, { value: null, error: 'the call did not end' }, { ref: false });
  return Promise.race([call ?? { value: null, error: '' }, late]);
}

/** An app that goes on where it was, after its guardian gave back, breaks nothing. */
async function wake(
  { moment }: Run,
  { app, call }: Standing,
  guardian: ProcessMark | null,
): Promise<void> {
  if (guardian) await until('the guardian to act', () => !isAlive(guardian), 5_000);
  app.release();
  process.kill(app.pid, 'SIGCONT');
  await settled(call);
  await delay(WOKEN_MS);
  // It may have taken over again, with a new guardian: what counts is that names are found.
  within(await timeToResolve(OUTSIDE_ADDRESS, BOUND_MS));
  // One whose main thread stands still cannot be told to give back, and takes nothing either.
  if (moment !== 'running busy') await giveBack(app);
  within(await timeToResolve(OUTSIDE_ADDRESS, BOUND_MS, MARKED));
}

async function bootAfterCut(): Promise<void> {
  // The unit that gives back at boot runs when the owner is up, before anybody needs names.
  const booting = machine.boot();
  await delay(300);
  await nextStart.run('command').catch(() => undefined); // the owner was not up yet: once more
  await until('the owner', () => state.isReadable(), 20_000);
  await nextStart.run('command');
  await booting;
}

async function oneRun(run: Run, index: number): Promise<RunResult> {
  const before = await state.read();
  const isInspected = run.victim.startsWith('engine') || run.moment === 'running busy';
  syncDisk(folder);
  const app = await App.start(folders, isInspected);
  const guardians: ProcessMark[] = [];
  let resolvedMs = NaN;
  let restoredMs: number | null = null;
  let failure = '';
  try {
    await app.call('resume'); // a pause of the last run outlived it
    const standing = await reach(app, run);
    const { guardian } = app;
    if (guardian !== 0) guardians.push(markOf(guardian));
    await strike(app, guardian, run);
    const recovered = await recovery(run, standing, guardian);
    ({ resolvedMs } = recovered);
    await until('the state of before', async () => (await state.read()) === before, STATE_MS);
    const sinceMs = performance.now() - recovered.fromMs;
    if (rescuer(run) !== 'app') restoredMs = Math.round(sinceMs);
    if (run.victim === 'app stopped, woken later') {
      await wake(run, standing, guardians[0] ?? null);
      await until('the state, woken', async () => (await state.read()) === before, STATE_MS);
    }
  } catch (error) {
    failure = error instanceof Error ? error.message : String(error);
    const now = await state.read().catch(String);
    failure += `; before ${before}; now ${now}; app ${JSON.stringify(app.said)}`;
    failure += `; ${await howLate(before)}`;
  }
  const left = await cleanUp(app, guardians);
  if (left !== '' && failure === '') failure = `left behind: ${left}`;
  return {
    ...{ ...run, flavour, index, by: rescuer(run), failure, restoredMs },
    resolvedMs: Math.round(resolvedMs),
  };
}

/** Whether what failed was only late. */
async function howLate(before: string): Promise<string> {
  const fromMs = performance.now();
  const isBack = async (): Promise<boolean> => (await state.read()) === before;
  return until('it', isBack, LATE_MS).then(
    () => `as before ${String(Math.round(performance.now() - fromMs))} ms later`,
    () => 'not as before later either',
  );
}

/** @returns processes of ours that did not end, as text */
async function cleanUp(app: App, guardians: readonly ProcessMark[]): Promise<string> {
  if (app.guardian !== 0) guardians = [...guardians, markOf(app.guardian)];
  for (const { pid } of guardians) if (isAlive(markOf(pid))) process.kill(pid, 'SIGCONT');
  await app.end();
  const isGone = (): boolean => state.leftProcesses() === '';
  await until('the guardian to end', isGone, 5_000).catch(() => undefined);
  const left = state.leftProcesses();
  for (const mark of guardians) if (isAlive(mark)) process.kill(mark.pid, 'SIGKILL');
  await nextStart.run('command').catch(() => undefined); // told by the run that failed
  return left;
}

/** A list that is another one at each update. */
function serveList(): void {
  let edition = 0;
  createServer((_request, response) => {
    edition++;
    const name = (index: number): string => `n${String(index)}.e${String(edition)}.invalid`;
    response.end(Array.from({ length: LIST_NAMES }, (_, index) => name(index)).join('\n'));
  }).listen(LIST_PORT, '127.0.0.1');
}

function settings(): string {
  const port = String(enginePort(flavour));
  return JSON.stringify({
    dns: {
      listen: [`127.0.0.1:${port}`, `[::1]:${port}`],
      ...{ upstreams: ['system'], bootstrap: ['system'] },
    },
    rebinding: { enabled: false },
    lists: [{ name: 'Test', url: `http://127.0.0.1:${String(LIST_PORT)}/list`, format: 'domains' }],
    policies: [
      {
        ...{ name: 'mark', action: 'redirect', domains: [MARKED] },
        redirect: { addresses: [ENGINE_ADDRESS] },
      },
    ],
    http: { listen: '127.0.0.1:8053' },
  });
}

process.env['SLUICE_JOURNAL_DIR'] = folders.journal;
fs.mkdirSync(folders.data, { recursive: true });
fs.mkdirSync(folders.hold, { recursive: true });
fs.writeFileSync(`${folders.data}/sluice.yaml`, settings());
serveList();
machine.install();
await machine.boot();
for (const [index, run] of drawRuns(Number(seed), Number(count)).entries()) {
  process.stdout.write(`${JSON.stringify(await oneRun(run, index))}\n`);
}
process.exit(0);
