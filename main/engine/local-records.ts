/**
 * The user's local records: names that are answered here and never asked upstream. Opened in each
 * data-plane thread from the records that service/local-records.ts has made; read by
 * steps/local-records.ts, and by followed aliases.
 *
 * A wildcard owner (*.x) stands for the names below x that have no records of their own and do not
 * lie below a name that has (RFC 4592 §3.3.1).
 */
import type { NameView } from './domain-table.ts';
import { hashName, writeName } from './name.ts';
import type { RewriteRecord } from './rule-set.ts';

/** A record as it crosses threads. */
export interface LocalRecord extends RewriteRecord {
  /** Presentation form, without "*.". */
  readonly owner: string;
  readonly isWildcard: boolean;
  /** With type CNAME, its target in presentation form; '' for other types. */
  readonly target: string;
}

/** All records of one owner. */
export interface LocalName {
  readonly records: readonly RewriteRecord[];
  /** Target of its alias; '' without one. */
  readonly target: string;
  readonly targetTtl: number;
}

interface Owner {
  readonly name: Uint8Array;
  own: LocalName | null;
  wildcard: LocalName | null;
}

export class LocalRecords {
  readonly #byHash = new Map<number, Owner[]>();

  constructor(records: readonly LocalRecord[]) {
    const scratch = new Uint8Array(255);
    for (const record of records) {
      const length = writeName(record.owner, scratch, 0);
      if (length > 0) this.#add(scratch.slice(0, length), record);
    }
  }

  /** The records of a name, own ones or of a wildcard; null for none. Allocates nothing. */
  find(view: NameView): LocalName | null {
    for (let label = 0; label < view.labelCount; label++) {
      const owner = this.#at(view, label);
      if (owner === null) continue;
      if (label === 0) {
        if (owner.own !== null) return owner.own;
        continue;
      }
      return owner.wildcard;
    }
    return null;
  }

  #at(view: NameView, label: number): Owner | null {
    const owners = this.#byHash.get(view.suffixHashes[label] as number);
    if (owners === undefined) return null;
    for (const owner of owners) if (isNamed(owner.name, view, label)) return owner;
    return null;
  }

  #add(name: Uint8Array, { isWildcard, type, ttl, rdata, target }: LocalRecord): void {
    const hash = hashName(name, 0, name.length);
    const owners = this.#byHash.get(hash) ?? [];
    this.#byHash.set(hash, owners);
    let owner = owners.find((other) => Buffer.compare(other.name, name) === 0);
    if (owner === undefined) {
      owner = { name, own: null, wildcard: null };
      owners.push(owner);
    }
    const before = isWildcard ? owner.wildcard : owner.own;
    const records = target === '' ? [...(before?.records ?? []), { type, ttl, rdata }] : [];
    const after = { records, target, targetTtl: ttl };
    if (isWildcard) owner.wildcard = after;
    else owner.own = after;
  }
}

function isNamed(name: Uint8Array, view: NameView, label: number): boolean {
  const start = view.labelStarts[label] as number;
  if (view.nameLength - start !== name.length) return false;
  for (let index = 0; index < name.length; index++) {
    if (name[index] !== view.name[start + index]) return false;
  }
  return true;
}
