/**
 * The kill storm: SIGKILL at random moments, also while starting, with edits by HTTP and by the
 * command line, list refreshes and questions in flight. Where this user may mount a disk, every third
 * kill cuts its power, too: what was not synced is lost.
 */
import { readdir } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { Disk } from './disk.ts';
import { expect, Failure, runCase, type Account, type Part, type Setting } from './case.ts';
import { ListServer } from './list-server.ts';
import { Pulse } from './pulse.ts';
import { Subject } from './subject.ts';
import { addressOf, Closers, GOOD_ADDRESS, goodUpstream, ZONE } from './surroundings.ts';

const KILLS = { full: 160, short: 5 };
const LISTS = ['first', 'second'];
const BLOCKED = '0.0.0.0';
const FILES_MORE_MAX = 12;

/**
 * What was acknowledged, and what nobody can know because the kill came first: even where that is
 * seen once, a later power cut may take it away again.
 */
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
    const rule = `||edit${String(this.#count++)}.edited.example^`;
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
      (rule) =>
        rule.includes('edited.example') && !this.#there.has(rule) && !this.#unknown.has(rule),
    );
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
  const blocked = LISTS.map((list) => `${list}-7.listed.example`);
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
    while (subject.isAlive()) {
      try {
        await work();
      } catch {
        if (subject.isAlive()) await wait(20);
      }
    }
  };
  await Promise.all([
    untilGone(async () => {
      if (edits.size > 60) await edits.removeOne(subject);
      else await edits.add(subject, setting.draw(12) === 0);
    }),
    untilGone(async () => {
      await lists.nextVersion();
      await subject.call('lists.refresh', {});
    }),
    untilGone(() => subject.call('queries.search', {})),
  ]);
}

async function filesBelow(folder: string): Promise<number> {
  const all = await readdir(folder, { recursive: true });
  // The cache of compiled code has a bound of its own.
  return all.filter((path) => !path.startsWith('cache')).length;
}

class Storm {
  readonly edits = new Edits();
  readonly #closers = new Closers();
  readonly #setting: Setting;
  readonly #lists: ListServer;
  readonly #subject: Subject;
  readonly #pulse: Pulse;
  readonly #disk: Disk | null;
  kills = 0;
  powerCuts = 0;
  files = 0;

  static async prepare(folder: string, setting: Setting): Promise<Storm> {
    const closers = new Closers();
    const lists = await ListServer.open();
    closers.after(() => lists.close());
    const upstream = await goodUpstream(closers);
    const disk = Disk.make(folder);
    closers.after(() => disk?.unmount());
    const subject = await Subject.make(disk?.folder ?? folder, {
      dns: { upstreams: [upstream] },
      lists: LISTS.map((name) => ({ name, url: lists.url(name) })),
      rules: ['||always.example^'],
    });
    closers.after(() => subject.kill());
    const zone = { blocked: 'always.example', zone: ZONE, address: GOOD_ADDRESS };
    const pulse = await Pulse.start({ port: subject.dnsPort, ...zone });
    closers.after(() => pulse.stop());
    return new Storm(closers, setting, lists, subject, pulse, disk);
  }

  private constructor(
    closers: Closers,
    setting: Setting,
    lists: ListServer,
    subject: Subject,
    pulse: Pulse,
    disk: Disk | null,
  ) {
    this.#closers = closers;
    this.#setting = setting;
    this.#lists = lists;
    this.#subject = subject;
    this.#pulse = pulse;
    this.#disk = disk;
  }

  get pulse(): Pulse {
    return this.#pulse;
  }

  async run(kills: number): Promise<void> {
    const subject = this.#subject;
    await subject.start();
    await subject.call('lists.refresh', {});
    const filesAtFirst = await filesBelow(subject.data);
    await subject.kill();
    while (this.kills < kills) {
      if (this.#setting.draw(4) === 0) await this.#killWhileStarting();
      else await this.#killWhileRunning();
      this.kills++;
      if (this.#disk !== null && this.#setting.draw(3) === 0) {
        await this.#disk.cutPower();
        this.powerCuts++;
      }
      if (this.kills % 20 === 0) {
        const { acknowledged } = this.edits;
        this.#setting.say(`  ${String(this.kills)} kills, ${String(acknowledged)} edits`);
      }
    }
    await this.#end(filesAtFirst + FILES_MORE_MAX);
  }

  async close(): Promise<void> {
    this.#pulse.down();
    await this.#closers.close();
  }

  async #killWhileStarting(): Promise<void> {
    this.#subject.launch();
    await wait(this.#setting.draw(500));
    await this.#subject.kill();
  }

  async #killWhileRunning(): Promise<void> {
    await this.#subject.start();
    this.#pulse.up();
    await verify(this.#subject, this.edits);
    const working = disturb(this.#subject, this.edits, this.#setting, this.#lists);
    await wait(this.#setting.draw(1_000));
    this.#pulse.down();
    await this.#subject.kill();
    await working;
  }

  /** One more start, in peace. */
  async #end(filesMax: number): Promise<void> {
    await this.#subject.start();
    this.#pulse.up();
    await verify(this.#subject, this.edits);
    await wait(1_000);
    this.#pulse.down();
    await this.#subject.stop();
    this.files = await filesBelow(this.#subject.data);
    const grown = `${String(this.files)} files instead of at most ${String(filesMax)}`;
    expect(this.files <= filesMax, `something is left behind: ${grown}`);
    const { wrong, lost } = this.#pulse.questions;
    expect(wrong === 0, `${String(wrong)} wrong answers, first: ${this.#pulse.firstWrong}`);
    expect(lost === 0, `${String(lost)} questions without an answer`);
  }
}

async function storm(
  folder: string,
  setting: Setting,
  tell: (account: Account) => void,
): Promise<void> {
  const one = await Storm.prepare(folder, setting);
  tell({
    questions: () => one.pulse.questions,
    figures: () => ({
      ...{ kills: one.kills, powerCuts: one.powerCuts, files: one.files },
      editsAcknowledged: one.edits.acknowledged,
    }),
  });
  try {
    await one.run(setting.isShort ? KILLS.short : KILLS.full);
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new Failure(`after ${String(one.kills)} kills: ${said}`, { cause: error });
  } finally {
    await one.close();
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
