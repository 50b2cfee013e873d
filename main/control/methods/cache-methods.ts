/** The methods about kept answers: `cache.inspect` and `cache.flush`. Called by the service. */
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { MethodArguments, MethodOutput } from '../../contract/methods/methods.ts';
import { REASON, REASONS } from '../../contract/outcome.ts';
import type { CachedItem, CachedRecord } from '../../engine/cache/cache-view.ts';
import { readName, writeName } from '../../dns/name.ts';
import { typeName } from '../../dns/type-names.ts';
import type { PlanePart } from '../process/parts.ts';
import { readTypedName } from '../../dns/typed-name.ts';

type CachedEntry = MethodOutput<'cache.inspect'>['entries'][number];

const NXDOMAIN = 3;

/** @throws AppError ARGUMENT_INVALID when the name is none */
export async function inspectCache(
  plane: PlanePart,
  input: MethodArguments<'cache.inspect'>,
): Promise<MethodOutput<'cache.inspect'>> {
  const name = canonical(input.name);
  const threads = await plane.inspectCache(name);
  return { name, entries: describeItems(threads) };
}

/** Entries for people. @param threads  what each thread keeps */
export function describeItems(threads: readonly (readonly CachedItem[])[]): CachedEntry[] {
  const entries = threads.flatMap((items, index) => items.map((item) => toEntry(item, index + 1)));
  return entries.sort((left, right) => left.typeName.localeCompare(right.typeName));
}

/** @throws AppError ARGUMENT_INVALID when the name is none */
export async function flushCache(
  plane: PlanePart,
  { name, below }: MethodArguments<'cache.flush'>,
): Promise<MethodOutput<'cache.flush'>> {
  if (name !== undefined) return { flushed: await plane.flushName(canonical(name), below) };
  const flushed = plane.counters().cacheEntries;
  plane.flushCache();
  return { flushed };
}

function canonical(text: string): string {
  const wire = new Uint8Array(LIMITS.nameBytesMax);
  const length = writeName(readTypedName(text), wire, 0);
  if (length < 0) throw new AppError('ARGUMENT_INVALID', `not a domain name: "${text}"`);
  return readName(wire, 0, length);
}

function toEntry(item: CachedItem, thread: number): CachedEntry {
  const { rcode, failure, ageSeconds, leftSeconds, dnssecOk, checkingDisabled, bytes } = item;
  const reason = item.isStripped ? REASON.rebinding : failure;
  return {
    typeName: item.type === 0 ? 'any' : typeName(item.type),
    kind: kindOf(item),
    reason: REASONS[reason] ?? 'none',
    ...{ rcode, ageSeconds, leftSeconds, dnssecOk, checkingDisabled, bytes, thread },
    records: item.records.map(recordText),
  };
}

/** "owner TTL type data". */
export function recordText({ owner, type, ttl, data }: CachedRecord): string {
  return `${owner} ${String(ttl)} ${typeName(type)} ${data}`;
}

function kindOf({ failure, rcode, records }: CachedItem): CachedEntry['kind'] {
  if (failure !== 0) return 'failure';
  if (rcode === NXDOMAIN) return 'no-name';
  return records.length === 0 ? 'no-data' : 'answer';
}
