/**
 * Keeps links covered while the takeover is on: covers those that appear, and those whose servers
 * somebody set anew (a DHCP renewal, NetworkManager, a person). Used by takeover.ts.
 *
 * What somebody set anew becomes the state to give back, so a change made meanwhile is kept on
 * restore. Who sets it again and again wins: we do not fight.
 */
import type { Journal, JournalFile } from './journal.ts';
import { holds, type OwnerItem, type PropertyValue, type ResolverOwner } from '../owners/owner.ts';

/** Times one item is covered again within RECOVER_WINDOW_MS before it is left alone. */
const RECOVERS_MAX = 5;
const RECOVER_WINDOW_MS = 60_000;

export interface RecoverOptions {
  readonly owner: ResolverOwner;
  readonly file: JournalFile;
  readonly nowMs?: () => number;
}

export class Recover {
  readonly #options: RecoverOptions;
  readonly #nowMs: () => number;
  readonly #timesMs = new Map<string, number[]>();

  constructor(options: RecoverOptions) {
    this.#options = options;
    this.#nowMs = options.nowMs ?? (() => performance.now());
  }

  /**
   * @returns the journal in force afterwards; on disk before anything is changed
   * @throws  the system's error when the journal cannot be written: then nothing was changed
   */
  async run(journal: Journal): Promise<Journal> {
    const { owner, file } = this.#options;
    const found = file.read();
    if (found.kind !== 'whole' || found.journal.id !== journal.id) {
      throw new Error('the resolver was given back meanwhile');
    }
    const lost = (await owner.capture()).filter((item) => this.#isLost(journal, item));
    if (lost.length === 0) return journal;
    const items = new Map(journal.items.map((item) => [item.key, item]));
    for (const now of lost) items.set(now.key, this.#before(journal, items.get(now.key), now));
    const next = { ...journal, items: [...items.values()] };
    file.update(next);
    for (const { key } of lost) {
      const before = items.get(key);
      const ours = before && owner.target(before, journal.servers);
      if (before && ours) await owner.write(before, ours);
    }
    return next;
  }

  #isLost(journal: Journal, now: OwnerItem): boolean {
    const { owner } = this.#options;
    const before = journal.items.find(({ key }) => key === now.key) ?? now;
    const ours = owner.target(before, journal.servers);
    if (ours === null || holds(ours, now.properties)) return false;
    const nowMs = this.#nowMs();
    const times = (this.#timesMs.get(now.key) ?? []).filter((at) => nowMs - at < RECOVER_WINDOW_MS);
    if (times.length >= RECOVERS_MAX) return false;
    this.#timesMs.set(now.key, [...times, nowMs]);
    return true;
  }

  /** Property by property: what still stands as we wrote it was before as the journal says. */
  #before(journal: Journal, known: OwnerItem | undefined, now: OwnerItem): OwnerItem {
    if (!known) return now;
    const ours = this.#options.owner.target(known, journal.servers) ?? {};
    const properties: Record<string, PropertyValue> = {};
    for (const [name, value] of Object.entries(now.properties)) {
      const mine = name in ours && JSON.stringify(value) === JSON.stringify(ours[name]);
      properties[name] = mine ? (known.properties[name] ?? null) : value;
    }
    return { ...now, properties };
  }
}
