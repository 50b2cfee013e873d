/**
 * The user's local records: names that are answered here and never asked upstream. Opened in each
 * data-plane thread from the records that control/policy/local-records.ts has made; read by
 * steps/local-records.ts, and by followed aliases.
 *
 * A wildcard owner (*.x) stands for names below x when x is the closest name that exists. A name
 * exists when it, or anything below it, has records: an empty one has no data (RFC 4592 §2.2, §3.3.1).
 * Names that lie below no wildcard, and have no records, are not ours to answer.
 */
import type { NameView } from '../../dns/name.ts';
import { hashName, writeName } from '../../dns/name.ts';
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

/** Of a name that exists because of those below it. */
const NOTHING: LocalName = { records: [], target: '', targetTtl: 0 };

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
    for (const owners of [...this.#byHash.values()]) {
      for (const { name } of owners) this.#addNodes(name);
    }
  }

  /**
   * The records of a name, own ones or of a wildcard, none for an empty name below a wildcard; null
   * for a name that is not ours. Allocates nothing.
   */
  find(view: NameView): LocalName | null {
    for (let label = 0; label < view.labelCount; label++) {
      const owner = this.#at(view, label);
      if (owner !== null) return label === 0 ? owner.own : owner.wildcard;
    }
    return null;
  }

  #at(view: NameView, label: number): Owner | null {
    const owners = this.#byHash.get(view.suffixHashes[label] as number);
    if (owners === undefined) return null;
    for (const owner of owners) if (isNamed(owner.name, view, label)) return owner;
    return null;
  }

  /** Makes the names exist, without records, that lie between a name and a wildcard above it. */
  #addNodes(name: Uint8Array): void {
    const between: Uint8Array[] = [];
    for (let at = 0; at < name.length; at += (name[at] as number) + 1) {
      const node = name.subarray(at);
      const owner = this.#ownerOf(node);
      if (at > 0 && owner?.wildcard) {
        for (const empty of between) this.#makeOwner(empty).own ??= NOTHING;
        return;
      }
      between.push(node);
    }
  }

  #ownerOf(name: Uint8Array): Owner | undefined {
    const owners = this.#byHash.get(hashName(name, 0, name.length));
    return owners?.find((other) => Buffer.compare(other.name, name) === 0);
  }

  #makeOwner(name: Uint8Array): Owner {
    const known = this.#ownerOf(name);
    if (known) return known;
    const owner: Owner = { name, own: null, wildcard: null };
    const hash = hashName(name, 0, name.length);
    this.#byHash.set(hash, [...(this.#byHash.get(hash) ?? []), owner]);
    return owner;
  }

  #add(name: Uint8Array, { isWildcard, type, ttl, rdata, target }: LocalRecord): void {
    const owner = this.#makeOwner(name);
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
