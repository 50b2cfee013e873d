/** What the caches hold that answers a question, for `check`. Sends nothing. */
import type { MethodOutput } from '../../contract/methods/methods.ts';
import type { CachedItem } from '../../engine/cache/cache-view.ts';
import type { AskedQuestion } from '../../engine/explain/explain-run.ts';
import { describeItems } from '../methods/cache-methods.ts';
import type { PlanePart } from '../process/parts.ts';

type CacheShown = MethodOutput<'check'>['cache'];

export interface KeptAnswer {
  /** Null when nothing is kept. */
  readonly item: CachedItem | null;
  /** The name it is kept under: the name itself, or one above that does not exist. */
  readonly name: string;
  readonly state: CacheShown['state'];
  /** For people: all that is kept under that name for this type. */
  readonly entries: CacheShown['entries'];
}

const NXDOMAIN = 3;
const CLASS_INTERNET = 1;
/** Names above the one asked for that are looked at. */
const ABOVE_MAX = 16;
const NOTHING: KeptAnswer = { item: null, name: '', state: 'none', entries: [] };

/** @param asked  what the engine would ask for; null when it asks for nothing */
export async function findKept(
  plane: Pick<PlanePart, 'inspectCache'>,
  asked: AskedQuestion | null,
): Promise<KeptAnswer> {
  if (asked === null) return NOTHING;
  const { name, type } = asked;
  const threads = await plane.inspectCache(name);
  const item = best(threads, (one) => one.type === type || one.type === 0);
  if (item !== undefined) {
    const isOurs = (one: CachedItem): boolean => one.type === type || one.type === 0;
    const entries = describeItems(threads.map((items) => items.filter(isOurs)));
    return { item, name, state: stateOf(item), entries };
  }
  return (await findAbove(plane, name)) ?? NOTHING;
}

/** Below a name that does not exist there is nothing. RFC 8020 §2. */
async function findAbove(
  plane: Pick<PlanePart, 'inspectCache'>,
  name: string,
): Promise<KeptAnswer | undefined> {
  const labels = name.split('.');
  const names = labels.slice(1, ABOVE_MAX).map((_, index) => labels.slice(index + 1).join('.'));
  const found = await Promise.all(names.map((above) => plane.inspectCache(above)));
  for (const [index, threads] of found.entries()) {
    const isMissing = (one: CachedItem): boolean => one.type === 0 && one.leftSeconds >= 0;
    const item = best(threads, isMissing);
    if (item === undefined) continue;
    const entries = describeItems(threads.map((items) => items.filter(isMissing)));
    return { item, name: names[index] ?? '', state: 'negative', entries };
  }
  return undefined;
}

/** The freshest answer to a question without DNSSEC, over all threads. */
function best(
  threads: readonly (readonly CachedItem[])[],
  fits: (item: CachedItem) => boolean,
): CachedItem | undefined {
  return threads
    .flat()
    .filter((item) => item.qclass === CLASS_INTERNET && !item.dnssecOk && !item.checkingDisabled)
    .filter(fits)
    .sort((left, right) => right.leftSeconds - left.leftSeconds)[0];
}

function stateOf({ failure, leftSeconds, rcode, records }: CachedItem): KeptAnswer['state'] {
  if (failure !== 0) return 'failure';
  if (leftSeconds < 0) return 'stale';
  return rcode === NXDOMAIN || records.length === 0 ? 'negative' : 'fresh';
}
