/**
 * The kill storm: SIGKILL at random moments, also while starting, with edits by HTTP and by the
 * command line, list refreshes and questions in flight.
 */
import { once } from 'node:events';
import { readdir } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, Failure, runCase, type Part, type Setting } from './case.ts';
import { ListServer } from './list-server.ts';
import { Pulse } from './pulse.ts';
import { Subject } from './subject.ts';
import { addressOf, Closers, GOOD_ADDRESS, goodUpstream, ZONE } from './surroundings.ts';

const KILLS = { full: 160, short: 6 };
const LISTS = ['first', 'second'];
const BLOCKED = '0.0.0.0';
const FILES_MORE_MAX = 12;

/** What was acknowledged, and what nobody can know because the kill came first. */
class Edits {
  readonly #there = new Set<string>();
  readonly #unknown = new Set<string>();
  acknowledged = 0;
  #count = 0;

  get size(): number {
    return this.#there.size;
  }

  get last(): string | undefined {
    return [...this.#there].at(-1);
  }

  async add(subject: Subject, byCommand: boolean): Promise<void> {
    const rule = `||edit${String(this.#count++)}.edited.test^`;
    this.#unknown.add(rule);
    if (byCommand) {
      const { code, text } = await subject.cli(['rules', 'add', rule], 10_000);
      if (code !== 0) throw new Error(text);
    } else {
      await subject.call('rules.add', { rule });
    }
    this.#acknowledge(rule, true);
  }

  async removeOne(subject: Subject): Promise<void> {
    const [rule] = this.#there;
    if (rule === undefined) return;
    this.#there.delete(rule);
    this.#unknown.add(rule);
    await subject.call('rules.remove', { rule });
    this.#acknowledge(rule, false);
  }

  #acknowledge(rule: string, isThere: boolean): void {
    this.acknowledged++;
    this.#unknown.delete(rule);
    if (isThere) this.#there.add(rule);
  }

  /** Compares with what the program has. @returns what is lost or came back */
  differences(rules: ReadonlySet<string>): string[] {
    const lost = [...this.#there].filter((rule) => !rules.has(rule)).map((rule) => `lost ${rule}`);
    const back = [...rules].filter(
      (rule) => rule.includes('edited.test') && !this.#there.has(rule) && !this.#unknown.has(rule),
    );
    // What was not acknowledged is as the program has it, from now on.
    for (const rule of this.#unknown) if (rules.has(rule)) this.#there.add(rule);
    this.#unknown.clear();
    return [...lost, ...back.map((rule) => `back ${rule}`)];
  }
}

async function verify(subject: Subject, edits: Edits): Promise<void> {
  const { rules } = await subject.call<{ rules: { text?: string; rule?: string }[] }>('rules.list');
  const texts = new Set(
    rules.map((one) => (typeof one === 'string' ? one : (one.rule ?? one.text ?? ''))),
  );
  const differences = edits.differences(texts);
  expect(differences.length === 0, `edits: ${differences.slice(0, 5).join(', ')}`);
  const rule = edits.last;
  const blocked = LISTS.map((list) => `${list}-7.listed.test`);
  if (rule !== undefined) blocked.push(rule.replace(/^\|\||\^$/g, ''));
  for (const name of blocked) {
    const got = await addressOf(subject.dnsPort, name);
    expect(got === BLOCKED, `${name} is not blocked: ${got}`);
  }
  const good = await addressOf(subject.dnsPort, `v${String(Date.now())}.${ZONE}`);
  expect(good === GOOD_ADDRESS, `a good name got ${good}`);
}

/** Edits, refreshes and reads until the program is gone. */
async function disturb(subject: Subject, edits: Edits, setting: Setting, lists: ListServer) {
  const untilGone = async (work: () => Promise<unknown>): Promise<void> => {
    while (subject.isAlive) {
      try {
        await work();
      } catch {
        if (subject.isAlive) await wait(20);
      }
    }
  };
  await Promise.all([
    untilGone(async () => {
      if (edits.size > 60) await edits.removeOne(subject);
      else await edits.add(subject, setting.draw(12) === 0);
    }),
    untilGone(async () => {
      lists.version++;
      await subject.call('lists.refresh', {});
    }),
    untilGone(() => subject.call('queries.search', {})),
  ]);
}

async function filesBelow(folder: string): Promise<number> {
  return (await readdir(folder, { recursive: true })).length;
}

async function storm(
  folder: string,
  setting: Setting,
  tell: Parameters<Parameters<typeof runCase>[2]>[1],
) {
  const closers = new Closers();
  const kills = setting.isShort ? KILLS.short : KILLS.full;
  const edits = new Edits();
  const lists = await ListServer.open();
  closers.after(() => lists.close());
  const upstream = await goodUpstream(closers);
  const subject = await Subject.make(folder, {
    dns: { upstreams: [upstream] },
    lists: LISTS.map((name) => ({ name, url: lists.url(name) })),
    rules: ['||always.test^'],
  });
  closers.after(() => subject.kill());
  const zone = { blocked: 'always.test', zone: ZONE, address: GOOD_ADDRESS };
  const pulse = await Pulse.start({ port: subject.dnsPort, ...zone });
  closers.after(() => pulse.stop());
  let done = 0;
  let files = 0;
  tell({
    questions: () => pulse.questions,
    figures: () => ({ kills: done, editsAcknowledged: edits.acknowledged, files }),
  });
  try {
    await subject.start();
    await subject.call('lists.refresh', {});
    const filesAtFirst = await filesBelow(subject.data);
    await subject.kill();
    for (; done < kills; done++) {
      if (setting.draw(4) === 0) {
        const child = subject.launch();
        await wait(setting.draw(500));
        await subject.kill();
        if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
        continue;
      }
      await subject.start();
      pulse.up();
      await verify(subject, edits);
      const working = disturb(subject, edits, setting, lists);
      await wait(setting.draw(700));
      pulse.down();
      await subject.kill();
      await working;
      if (done % 20 === 19)
        setting.say(`  ${String(done + 1)} kills, ${String(edits.acknowledged)} edits`);
    }
    await subject.start();
    pulse.up();
    await verify(subject, edits);
    await wait(1_000);
    await subject.stop();
    files = await filesBelow(subject.data);
    const most = filesAtFirst + FILES_MORE_MAX;
    expect(
      files <= most,
      `${String(files)} files, ${String(filesAtFirst)} at first: something is left behind`,
    );
    const { wrong, lost } = pulse.questions;
    expect(wrong === 0, `${String(wrong)} wrong answers, first: ${pulse.firstWrong}`);
    expect(lost === 0, `${String(lost)} questions without an answer`);
  } catch (error) {
    throw new Failure(
      `after ${String(done)} kills: ${error instanceof Error ? error.message : ''}`,
    );
  } finally {
    pulse.down();
    await closers.close();
  }
}

export const KILLS_PART: Part = {
  name: 'kill storm',
  criterion:
    'After every kill each acknowledged edit is there, names of every list and of the last rule are ' +
    'blocked, other names resolve, no question asked while it ran stays without its right answer, ' +
    'and the data folder does not grow.',
  run: async (setting) => [
    await runCase('edits, refreshes and questions in flight', setting, (folder, tell) =>
      storm(folder, setting, tell),
    ),
  ],
};
