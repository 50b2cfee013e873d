/**
 * Plans changes to the sections of the settings that say what is answered to whom. Pure; run inside
 * an edit of the config store, with the catalogue of services read.
 */
import { isDeepStrictEqual } from 'node:util';
import type { Config } from '../../contract/config.ts';
import type { RecordSettings } from '../../contract/filter-config.ts';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { pathText } from '../../contract/schema-text.ts';
import type { EditPlan } from './config-store.ts';
import { filterConflict } from './filter-conflicts.ts';

/** Sections that are lists of objects with a name of their own. */
export type NamedSection = 'policies' | 'clients' | 'groups';

const MOST: Readonly<Record<NamedSection, number>> = {
  policies: LIMITS.policiesMax,
  clients: LIMITS.clientsMax,
  groups: LIMITS.groupsMax,
};

interface Named {
  readonly name: string;
}

/**
 * Puts an object in the place of the one with its name, or with the name that it had; else behind
 * all others.
 *
 * @param entry   defaults filled in
 * @param shown   as it is written into the file: without what is default
 * @throws        AppError ENTRY_UNKNOWN for an unknown `was`, TOO_MANY, ARGUMENT_INVALID
 */
export function planPut<Name extends NamedSection>(
  config: Config,
  section: Name,
  entry: Config[Name][number],
  shown: unknown,
  was: string | undefined,
): EditPlan<Name> | undefined {
  const entries: readonly Named[] = config[section];
  const index = entries.findIndex(({ name }) => name === (was ?? entry.name));
  if (index < 0 && was !== undefined) throw unknown(section, was);
  if (index >= 0 && isDeepStrictEqual(entries[index], entry)) return undefined;
  if (index < 0 && entries.length >= MOST[section]) {
    throw new AppError('TOO_MANY', `adding it failed: ${String(MOST[section])} ${section} exist`);
  }
  const wanted = (index < 0
    ? [...entries, entry]
    : entries.with(index, entry)) as unknown as Config[Name];
  check(config, section, wanted);
  return {
    change: index < 0 ? { kind: 'append', entry: shown } : { kind: 'replace', index, entry: shown },
    wanted,
  };
}

/** @throws AppError ENTRY_UNKNOWN; ARGUMENT_INVALID when another part of the settings needs it */
export function planRemove<Name extends NamedSection>(
  config: Config,
  section: Name,
  name: string,
): EditPlan<Name> {
  const entries: readonly Named[] = config[section];
  const index = entries.findIndex((entry) => entry.name === name);
  if (index < 0) throw unknown(section, name);
  const wanted = entries.toSpliced(index, 1) as unknown as Config[Name];
  check(config, section, wanted);
  return { change: { kind: 'remove', index }, wanted };
}

/** @throws AppError TOO_MANY, ARGUMENT_INVALID */
export function planPutRecord(
  config: Config,
  record: RecordSettings,
  shown: unknown,
): EditPlan<'records'> | undefined {
  const { records } = config;
  const index = records.findIndex((other) => isSameRecord(other, record));
  if (index >= 0 && isDeepStrictEqual(records[index], record)) return undefined;
  if (index < 0 && records.length >= LIMITS.recordsMax) {
    throw new AppError('TOO_MANY', `adding it failed: ${String(LIMITS.recordsMax)} records exist`);
  }
  const wanted = index < 0 ? [...records, record] : records.with(index, record);
  check(config, 'records', wanted);
  return {
    change: index < 0 ? { kind: 'append', entry: shown } : { kind: 'replace', index, entry: shown },
    wanted,
  };
}

/** @throws AppError ENTRY_UNKNOWN */
export function planRemoveRecords(
  { records }: Config,
  name: string,
  type: string | undefined,
  value: string | undefined,
): EditPlan<'records'> {
  const isMeant = (record: RecordSettings): boolean =>
    plainName(record.name) === plainName(name) &&
    (type === undefined || record.type === type) &&
    (value === undefined || record.value === value);
  const index = records.findIndex(isMeant);
  if (index < 0) throw new AppError('ENTRY_UNKNOWN', `there is no such record of ${name}`);
  const wanted = records.filter((record) => !isMeant(record));
  const isOne = wanted.length === records.length - 1;
  return { change: isOne ? { kind: 'remove', index } : { kind: 'whole' }, wanted };
}

/** Sets a whole section. @throws AppError ARGUMENT_INVALID */
export function planSet<Name extends 'services' | 'safeSearch' | 'bypass'>(
  config: Config,
  section: Name,
  wanted: Config[Name],
): EditPlan<Name> | undefined {
  if (isDeepStrictEqual(config[section], wanted)) return undefined;
  check(config, section, wanted);
  if (Array.isArray(wanted)) return { change: { kind: 'whole' }, wanted };
  const before = new Map<string, unknown>(Object.entries(config[section]));
  const values = Object.fromEntries(
    Object.entries(wanted).filter(([key, value]) => !isDeepStrictEqual(before.get(key), value)),
  );
  return { change: { kind: 'keys', values }, wanted };
}

/** What differs from the defaults, for the file; `base` has them. */
export function withoutDefaults(entry: object, base: object, always: readonly string[]): object {
  const defaults: Readonly<Record<string, unknown>> = { ...base };
  return Object.fromEntries(
    Object.entries(entry).filter(
      ([key, value]) =>
        value !== undefined && (always.includes(key) || !isDeepStrictEqual(defaults[key], value)),
    ),
  );
}

function check<Name extends keyof Config>(
  config: Config,
  section: Name,
  wanted: Config[Name],
): void {
  const conflict = filterConflict({ ...config, [section]: wanted });
  if (!conflict) return;
  throw new AppError('ARGUMENT_INVALID', `${pathText(conflict.path)}: ${conflict.text}`);
}

function isSameRecord(left: RecordSettings, right: RecordSettings): boolean {
  const isSameName = plainName(left.name) === plainName(right.name);
  return isSameName && left.type === right.type && left.value === right.value;
}

function plainName(text: string): string {
  return text.toLowerCase().replace(/(?<=.)\.$/, '');
}

function unknown(section: NamedSection, name: string): AppError {
  const kind = { policies: 'policy', clients: 'client', groups: 'group' }[section];
  return new AppError('ENTRY_UNKNOWN', `there is no ${kind} "${name}"`);
}
