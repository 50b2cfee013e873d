/**
 * Gives the resolver back as the journal says. Run by the switch, by the guardian, at the next
 * start, at boot, and by hand; running it twice, or in two processes at once, does no harm.
 */
import {
  asksOnlyUs,
  planUndo,
  type OwnerItem,
  type ResolverOwner,
  type UndoPlan,
} from '../owners/owner.ts';
import type { Journal, JournalFile, JournalRead } from './journal.ts';

export interface RestoredItem {
  readonly label: string;
  /**
   * restored: stands as before. unchanged: stood as before. gone: the link has gone. yours: changed
   * by somebody since, left alone. mended: changed since, but it asked only us, so the servers from
   * before were put back. failed: see `reason`.
   */
  readonly outcome: 'restored' | 'unchanged' | 'gone' | 'yours' | 'mended' | 'failed';
  readonly reason: string;
}

export interface RestoreReport {
  /** nothing: there was no takeover. partly: at least one item failed; the journal is kept. */
  readonly outcome: 'nothing' | 'restored' | 'partly';
  /** One plain sentence. */
  readonly detail: string;
  readonly items: readonly RestoredItem[];
}

export interface RestoreOptions {
  readonly journal: JournalFile;
  readonly owners: readonly ResolverOwner[];
  /**
   * The caller's own takeover, whose journal may be gone from the disk by now. With it, a journal of
   * another takeover is left alone: a later instance holds the resolver then.
   */
  readonly known?: Journal;
  /** As `known`, where only the id of the takeover is at hand. */
  readonly id?: string;
  /** Called before each write, with its name. */
  readonly onStep?: (step: string) => void | Promise<void>;
}

/** Never throws: what failed is in the report. */
export async function restore(options: RestoreOptions): Promise<RestoreReport> {
  const found = options.journal.read();
  switch (found.kind) {
    case 'none':
      if (options.known) return finish(options, await undo(options, options.known), '');
      return { outcome: 'nothing', detail: 'the resolver was not taken over', items: [] };
    case 'damaged': {
      const { known } = options;
      const items = known ? await undo(options, known) : await releaseAll(options);
      return finish(options, items, `the journal is damaged: ${found.reason}`);
    }
    case 'whole':
      if (isOfAnother(options, found)) {
        const detail = 'another instance has taken the resolver over since';
        return { outcome: 'nothing', detail, items: [] };
      }
      return finish(options, await undo(options, found.journal), '', found.journal.id);
  }
}

/** Whether the journal on disk is that of another takeover than the caller's. */
function isOfAnother({ known, id = known?.id }: RestoreOptions, found: JournalRead): boolean {
  return id !== undefined && found.kind === 'whole' && found.journal.id !== id;
}

async function undo(options: RestoreOptions, journal: Journal): Promise<RestoredItem[]> {
  const owner = options.owners.find(({ name }) => name === journal.owner);
  if (!owner) return [failed(journal.owner, new Error('this system has no such owner'))];
  let now: OwnerItem[];
  try {
    now = await owner.capture();
  } catch (error) {
    return [failed(owner.name, error)];
  }
  const byKey = new Map(now.map((item) => [item.key, item]));
  const touched = journal.items.filter((item) => owner.target(item, journal.servers) !== null);
  const items = await Promise.all(
    touched.map((before) => undoItem(options, owner, journal, before, byKey.get(before.key))),
  );
  await options.onStep?.('settle');
  await owner.settle().catch(() => undefined); // a cache that keeps old answers ends by itself
  return items;
}

async function undoItem(
  options: RestoreOptions,
  owner: ResolverOwner,
  journal: Journal,
  before: OwnerItem,
  now: OwnerItem | undefined,
): Promise<RestoredItem> {
  const { label } = before;
  if (!now) return { label, outcome: 'gone', reason: '' };
  const ours = owner.target(before, journal.servers) ?? {};
  const plan = planUndo(before.properties, ours, now.properties);
  try {
    await options.onStep?.(`write ${label}`);
    // Looked at once more: this process may have stood still since it read the journal.
    const isLate = isOfAnother(options, options.journal.read());
    if (isLate) return { label, outcome: 'yours', reason: 'another instance has it now' };
    return await writeBack({ owner, journal, before, now, plan });
  } catch (error) {
    return failed(label, error);
  }
}

async function writeBack({
  owner,
  journal,
  before,
  now,
  plan,
}: {
  readonly owner: ResolverOwner;
  readonly journal: Journal;
  readonly before: OwnerItem;
  readonly now: OwnerItem;
  readonly plan: UndoPlan;
}): Promise<RestoredItem> {
  const { label } = before;
  if (Object.keys(plan.write).length > 0) await owner.write(before, plan.write);
  else if (plan.leftAlone.length > 0 && wouldAskNobody(journal, before, now)) {
    await owner.write(before, owner.mend?.(before, now, journal.servers) ?? before.properties);
    return { label, outcome: 'mended', reason: 'changed since, but it asked only Sluice' };
  }
  return { label, ...outcomeOf(plan) };
}

function outcomeOf({ write, leftAlone }: UndoPlan): Omit<RestoredItem, 'label'> {
  if (leftAlone.length > 0) {
    return { outcome: 'yours', reason: `changed since, left as it is: ${leftAlone.join(', ')}` };
  }
  return { outcome: Object.keys(write).length > 0 ? 'restored' : 'unchanged', reason: '' };
}

/** It was changed, but asks only us, and did not do so before: without us it has no DNS. */
function wouldAskNobody({ servers }: Journal, before: OwnerItem, now: OwnerItem): boolean {
  return asksOnlyUs(now, servers) && !asksOnlyUs(before, servers);
}

/** Without a journal to trust: whatever asks only loopback servers gets its owner's own again. */
async function releaseAll(options: RestoreOptions): Promise<RestoredItem[]> {
  const items: RestoredItem[] = [];
  for (const owner of options.owners) {
    const detection = await owner.detect().catch(() => null);
    if (detection?.isInCharge !== true) continue;
    const found = await owner.capture().catch(() => []);
    for (const item of found.filter(asksOnlyLoopback)) {
      try {
        await owner.release(item);
        items.push({ label: item.label, outcome: 'restored', reason: 'its own setting again' });
      } catch (error) {
        items.push(failed(item.label, error));
      }
    }
  }
  return items;
}

/** Loopback servers that are not the stubs of the owners themselves. */
function asksOnlyLoopback({ servers }: OwnerItem): boolean {
  return (
    servers.length > 0 &&
    servers.every((one) => /^(127\.|\[?::1\b)/.test(one) && !/^127\.0\.0\.5[34]$/.test(one))
  );
}

function finish(
  { journal }: RestoreOptions,
  items: readonly RestoredItem[],
  note: string,
  id?: string,
): RestoreReport {
  const failures = items.filter(({ outcome }) => outcome === 'failed');
  const prefix = note === '' ? '' : `${note}; `;
  if (failures.length > 0) {
    const reasons = failures.map(({ label, reason }) => `${label}: ${reason}`).join('; ');
    return { outcome: 'partly', detail: `${prefix}could not give back ${reasons}`, items };
  }
  try {
    journal.remove(id);
  } catch (error) {
    // The state is given back; the journal that stays makes the next start look once more.
    const reason = error instanceof Error ? error.message : String(error);
    const detail = `${prefix}given back; the journal cannot be removed (${reason})`;
    return { outcome: 'restored', detail, items };
  }
  return { outcome: 'restored', detail: `${prefix}the resolver is given back`, items };
}

function failed(label: string, error: unknown): RestoredItem {
  const reason = error instanceof Error ? error.message : String(error);
  return { label, outcome: 'failed', reason };
}
