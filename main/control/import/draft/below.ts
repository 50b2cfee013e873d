/**
 * Names below a name. In the other programs a record for a name and all below it holds for every
 * such name without a record of its own, however deep. Here a wildcard goes by RFC 4592: it says
 * nothing about names below one that exists. So the records that the wildcard would have there are
 * written out.
 */
import type { Config } from '../../../contract/config.ts';

type LocalRecord = Config['records'][number];

/** @returns  records to add to these, whose names may have "*." in front */
export function recordsBelow(records: readonly LocalRecord[]): LocalRecord[] {
  const owners = new Map<string, LocalRecord[]>();
  const wildcards = new Map<string, LocalRecord[]>();
  for (const record of records) {
    const name = record.name.toLowerCase().replace(/\.$/, '');
    const [map, key] = name.startsWith('*.') ? [wildcards, name.slice(2)] : [owners, name];
    const found = map.get(key);
    if (found) found.push(record);
    else map.set(key, [record]);
  }
  if (wildcards.size === 0) return [];
  const added: LocalRecord[] = [];
  const done = new Set<string>();
  const add = (name: string, source: readonly LocalRecord[]): void => {
    if (done.has(name)) return;
    done.add(name);
    added.push(...source.map((record) => ({ ...record, name })));
  };
  for (const name of new Set([...owners.keys(), ...wildcards.keys()])) {
    const [between, source] = closestWildcard(name, wildcards);
    if (source === undefined) continue;
    if (!wildcards.has(name)) add(`*.${name}`, source);
    for (const middle of between) {
      if (!owners.has(middle)) add(middle, source);
      add(`*.${middle}`, source);
    }
  }
  return added;
}

/** Names between a name and the next wildcard above it, neither of them included. */
function closestWildcard(
  name: string,
  wildcards: ReadonlyMap<string, LocalRecord[]>,
): [between: string[], source: LocalRecord[] | undefined] {
  const between: string[] = [];
  for (let dot = name.indexOf('.'); dot >= 0; dot = name.indexOf('.', dot + 1)) {
    const parent = name.slice(dot + 1);
    const source = wildcards.get(parent);
    if (source) return [between, source];
    between.push(parent);
  }
  return [between, undefined];
}
