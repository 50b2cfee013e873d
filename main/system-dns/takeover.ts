/**
 * Takes the system resolver over and gives it back: the order of steps, and what holds while it is
 * on. One per program, in the main thread; one operation runs at a time.
 *
 * on:   owner → leftovers of a dead instance given back → capture → journal on disk → guardian
 *       armed → engine asked → apply → read back → probe → "on". Any failure gives back and says
 *       which step.
 * off:  give back → guardian dismissed → "off". The engine answers until the end of it.
 */
import { AppError } from '../contract/errors.ts';
import type { GuardianHandle, StartGuardian } from './guardian/guardian.ts';
import { journalOrders, type GuardianReport } from './guardian/guardian-orders.ts';
import type { Journal, JournalFile } from './takeover/journal.ts';
import {
  asksOnlyUs,
  holds,
  type DnsServer,
  type OwnerItem,
  type ResolverOwner,
} from './owners/owner.ts';
import { ownerInCharge, type FoundOwner } from './owners/owners.ts';
import { isAlive, markOf } from '../system/process-mark.ts';
import { Recover } from './takeover/recover.ts';
import { explainRefusal } from './takeover/refusal.ts';
import { restore, type RestoreReport } from './takeover/restore.ts';

export interface TakeoverState {
  /** degraded: asked for, but not, or not wholly, in force; `reason` says why. */
  readonly phase: 'off' | 'applying' | 'on' | 'degraded' | 'restoring';
  /** One plain sentence; '' when there is nothing to say. */
  readonly reason: string;
  /** Last step of an operation, for people who wait. */
  readonly step: string;
  readonly owner: string;
  /** Labels of the items that lead to us. */
  readonly covered: readonly string[];
  readonly uncovered: readonly { readonly label: string; readonly reason: string }[];
}

export interface TakeoverOptions {
  readonly journal: JournalFile;
  /** Folder of the journal, for the guardian. */
  readonly directory: string;
  readonly owners: readonly ResolverOwner[];
  /** Loopback endpoints on which the engine answers now, IPv4 first. */
  readonly servers: () => readonly DnsServer[];
  /** Instance id of the engine, for probe names. */
  readonly instance: string;
  readonly startGuardian: StartGuardian;
  readonly probes: Probes;
  /** Called after each change of `state`. */
  readonly onChange: () => void;
  /** Called before each step; a test stops the machine in it. */
  readonly onStep?: (step: string) => void | Promise<void>;
}

export interface Probes {
  /** Asks the engine at one endpoint for a fresh probe name. */
  engine(server: DnsServer): Promise<boolean>;
  /** Asks the system's stub for one. */
  stub(family: 4 | 6): Promise<boolean>;
}

/** Time for the owner to carry out what it accepted: NetworkManager writes its file a bit later. */
const READ_BACK_MS = 2_000;
const READ_BACK_EVERY_MS = 50;
const PROBE_TRIES = 3;
const OFF: TakeoverState = {
  ...{ phase: 'off', reason: '', step: '', owner: '', covered: [], uncovered: [] },
};

/** A takeover that is in force. */
interface Held {
  readonly found: FoundOwner;
  journal: Journal;
  guardian: GuardianHandle | null;
  readonly recover: Recover;
}

export class Takeover {
  readonly #options: TakeoverOptions;
  #state: TakeoverState = OFF;
  #held: Held | null = null;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: TakeoverOptions) {
    this.#options = options;
  }

  get state(): TakeoverState {
    return this.#state;
  }

  /** The journal in force; null when off. For the network page and the upstreams of last resort. */
  get journal(): Journal | null {
    return this.#held?.journal ?? null;
  }

  /** Harmless when it is on. @throws AppError TAKEOVER_FAILED, TAKEOVER_HELD; all is as before then */
  on(): Promise<TakeoverState> {
    return this.#queue(async () => {
      if (this.#held) return this.#state;
      this.#set({ ...OFF, phase: 'applying' });
      try {
        await this.#take();
      } catch (error) {
        await this.#rollBack(error);
      }
      return this.#state;
    });
  }

  /** Harmless when it is off; also gives back what a dead instance left. Never throws. */
  off(): Promise<RestoreReport> {
    return this.#queue(() => this.#giveBack(''));
  }

  /** Looks at the network again: new links are covered, lost ones covered once more. */
  cover(): Promise<void> {
    return this.#queue(async () => {
      const held = this.#held;
      if (!held) return;
      try {
        // While it is silent the guardian gives back: what it wrote must not be covered again.
        await this.#askEngine(held.journal.servers.slice(0, 1));
        held.journal = await held.recover.run(held.journal);
        await this.#settleState(held);
      } catch (error) {
        this.#set({ ...this.#state, phase: 'degraded', reason: messageOf(error) });
      }
    });
  }

  async #take(): Promise<void> {
    const { options, found, servers } = await this.#prepare();
    await this.#step('capture');
    const items = await captureClean(found.owner, servers);
    await this.#step('journal');
    const { name } = found.owner;
    const holder = markOf(process.pid);
    const journal = options.journal.begin({ owner: name, servers, items, holder });
    if (journal === false) {
      throw new AppError('TAKEOVER_HELD', 'another instance took the resolver over just now');
    }
    const recover = new Recover({ owner: found.owner, file: options.journal });
    this.#held = { found, journal, guardian: null, recover };
    await this.#step('guardian');
    this.#held.guardian = await this.#newGuardian(journal);
    // Before anything is changed: an engine that is silent would leave the machine without names.
    await this.#askEngine(servers);
    await this.#step('apply');
    await Promise.all(items.map((item) => this.#apply(found.owner, item, servers)));
    await this.#step('read back');
    await readBack(found.owner, items, servers);
    await this.#step('probe');
    await this.#prove(found, items, servers);
    if (options.journal.read().kind !== 'whole') {
      throw new AppError('TAKEOVER_FAILED', 'the journal went while the resolver was taken over');
    }
    await this.#settleState(this.#held);
  }

  async #prepare() {
    const { options } = { options: this.#options };
    await this.#step('owner');
    await clearLeftovers(options);
    const found = await ownerInCharge(options.owners);
    if (!found) throw new AppError('TAKEOVER_FAILED', 'nobody owns the resolver of this system');
    const servers = options
      .servers()
      .filter(({ port }) => found.detection.takesPort || port === 53);
    if (servers.length === 0) {
      throw new AppError(
        'TAKEOVER_FAILED',
        `${found.detection.detail}: it can only ask port 53, and Sluice does not listen there`,
      );
    }
    return { options, found, servers };
  }

  async #apply(owner: ResolverOwner, item: OwnerItem, servers: readonly DnsServer[]) {
    const ours = owner.target(item, servers);
    if (ours === null) return;
    await this.#options.onStep?.(`apply ${item.label}`);
    try {
      await owner.write(item, ours);
    } catch (error) {
      throw new AppError('TAKEOVER_FAILED', explainRefusal(owner.name, error), error);
    }
  }

  /** Every family through the engine, and the system's own stub through every family. */
  async #prove(found: FoundOwner, items: readonly OwnerItem[], servers: readonly DnsServer[]) {
    const { probes } = this.#options;
    await this.#askEngine(servers);
    // Without a link there is nothing to ask through; the first one is covered when it appears.
    if (items.every((item) => found.owner.target(item, servers) === null)) return;
    for (const family of [4, 6] as const) {
      if (await repeat(() => probes.stub(family))) continue;
      const type = family === 4 ? 'IPv4' : 'IPv6';
      throw new AppError(
        'TAKEOVER_FAILED',
        `a probe for an ${type} address did not come through the system resolver to Sluice`,
      );
    }
  }

  async #askEngine(servers: readonly DnsServer[]): Promise<void> {
    for (const server of servers) {
      if (await repeat(() => this.#options.probes.engine(server))) continue;
      throw new AppError('TAKEOVER_FAILED', `the engine does not answer at ${server.address}`);
    }
  }

  async #newGuardian(journal: Journal): Promise<GuardianHandle> {
    const { directory, instance, startGuardian } = this.#options;
    return startGuardian(
      {
        ...{ appPid: process.pid, directory, servers: journal.servers, instance },
        ...journalOrders(journal),
      },
      {
        onDied: (reason) => void this.#queue(() => this.#replaceGuardian(journal.id, reason)),
        onRestored: (report) => void this.#queue(() => this.#wasRestored(journal.id, report)),
      },
    );
  }

  /** Without a guardian the resolver is not kept. */
  async #replaceGuardian(id: string, reason: string): Promise<void> {
    const held = this.#held;
    if (held?.journal.id !== id) return;
    try {
      held.guardian = await this.#newGuardian(held.journal);
    } catch (error) {
      await this.#giveBack(`the guardian ended (${reason}) and cannot start: ${messageOf(error)}`);
    }
  }

  /**
   * The guardian gave back, and we live: we stood still. What was written since we woke is undone
   * from memory; whether to take over again is for the owner of this object to say.
   */
  async #wasRestored(id: string, report: GuardianReport): Promise<void> {
    if (this.#held?.journal.id !== id) return;
    if ((await this.#giveBack('')).outcome === 'partly') return;
    const why =
      report.verdict === 'engine-silent' ? 'the engine did not answer' : 'the app did not answer';
    this.#set({ ...OFF, phase: 'degraded', reason: `the guardian gave the resolver back: ${why}` });
  }

  async #giveBack(reason: string): Promise<RestoreReport> {
    const { journal, owners, onStep } = this.#options;
    this.#set({ ...this.#state, phase: 'restoring', reason, step: '' });
    const { guardian, journal: known } = this.#held ?? {};
    const report = await restore({
      ...{ journal, owners },
      ...(known && { known }),
      ...(onStep && { onStep }),
    });
    if (report.outcome === 'partly') {
      // The guardian stays: it goes on trying when we end.
      this.#set({ ...this.#state, phase: 'degraded', reason: report.detail });
      return report;
    }
    this.#held = null;
    await guardian?.dismiss();
    this.#set({ ...OFF, reason });
    return report;
  }

  async #rollBack(error: unknown): Promise<never> {
    const { step } = this.#state;
    const code = error instanceof AppError ? error.code : 'TAKEOVER_FAILED';
    const said = `${step}: ${messageOf(error)}`;
    if (this.#held) {
      const report = await this.#giveBack(said);
      if (report.outcome === 'partly') {
        throw new AppError(code, `${said}; and giving back failed: ${report.detail}`, error);
      }
    } else {
      this.#set({ ...OFF, reason: said });
    }
    throw new AppError(code, said, error);
  }

  async #settleState({ found, journal }: Held): Promise<void> {
    const now = await found.owner.capture();
    const covered: string[] = [];
    const uncovered: { label: string; reason: string }[] = [];
    for (const item of now) {
      const before = journal.items.find(({ key }) => key === item.key) ?? item;
      const ours = found.owner.target(before, journal.servers);
      if (ours && holds(ours, item.properties)) covered.push(item.label);
      else uncovered.push({ label: item.label, reason: item.skip || 'others set its servers' });
    }
    const isWhole = covered.length > 0 && uncovered.every(({ label }) => isSkipped(now, label));
    const reason =
      covered.length === 0
        ? 'no network link is up; the first one is covered when it appears'
        : isWhole
          ? ''
          : 'some links do not lead to Sluice';
    const phase = isWhole ? 'on' : 'degraded';
    const { name: owner } = found.owner;
    this.#set({ phase, reason, step: '', owner, covered, uncovered });
  }

  async #step(step: string): Promise<void> {
    this.#set({ ...this.#state, step });
    await this.#options.onStep?.(step);
  }

  #set(state: TakeoverState): void {
    this.#state = state;
    this.#options.onChange();
  }

  #queue<T>(run: () => Promise<T>): Promise<T> {
    const result = this.#last.then(run);
    this.#last = result.catch(() => undefined); // told to the caller
    return result;
  }
}

/** What an instance left that died holding the resolver is given back first. */
async function clearLeftovers(options: TakeoverOptions): Promise<void> {
  const found = options.journal.read();
  if (found.kind === 'none') return;
  if (found.kind === 'whole' && isAlive(found.journal.holder)) {
    const pid = String(found.journal.holder.pid);
    throw new AppError('TAKEOVER_HELD', `process ${pid} has taken the resolver over already`);
  }
  const own = found.kind === 'whole' ? { id: found.journal.id } : {};
  const report = await restore({ ...options, ...own });
  if (report.outcome === 'partly') throw new AppError('TAKEOVER_FAILED', report.detail);
}

/** A state that leads to us already, without a journal, is no state to go back to. */
async function captureClean(
  owner: ResolverOwner,
  servers: readonly DnsServer[],
): Promise<OwnerItem[]> {
  const items = await owner.capture();
  const ours = items.filter((item) => item.skip === '' && asksOnlyUs(item, servers));
  if (ours.length === 0) return items;
  for (const item of ours) await owner.release(item);
  return owner.capture();
}

async function readBack(
  owner: ResolverOwner,
  items: readonly OwnerItem[],
  servers: readonly DnsServer[],
): Promise<void> {
  const until = performance.now() + READ_BACK_MS;
  for (;;) {
    const now = new Map((await owner.capture()).map((item) => [item.key, item]));
    const missing = items.filter((item) => {
      const ours = owner.target(item, servers);
      const found = now.get(item.key);
      return ours !== null && found !== undefined && !holds(ours, found.properties);
    });
    if (missing.length === 0) return;
    if (performance.now() > until) {
      const labels = missing.map(({ label }) => label).join(', ');
      throw new AppError('TAKEOVER_FAILED', `${owner.name} did not keep our servers for ${labels}`);
    }
    await new Promise((resolve) => setTimeout(resolve, READ_BACK_EVERY_MS));
  }
}

async function repeat(probe: () => Promise<boolean>): Promise<boolean> {
  for (let left = PROBE_TRIES; left > 0; left--) if (await probe()) return true;
  return false;
}

function isSkipped(items: readonly OwnerItem[], label: string): boolean {
  return items.some((item) => item.label === label && item.skip !== '');
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
