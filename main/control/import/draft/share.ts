/**
 * Who gets what. Other programs say it by client; here a client belongs to one group, and what is
 * everybody's applies to every client beside it. So the readers collect what each client gets
 * ("share"), and `settleShares` makes groups of it: what all shares have stays everybody's; when
 * some client must not have something of everybody's, that goes into a group of "all others".
 */
import type { PolicySettings } from '../../../contract/filter-config.ts';
import type { SafeEngine } from '../../../contract/filter-words.ts';
import { LIMITS } from '../../../contract/limits.ts';
import type { ImportDraft } from './draft.ts';
import { cleanTitle, freeName } from './titles.ts';

/** What a client gets. Null: the same as everybody. */
export interface Share {
  /** Names of lists of the draft. */
  readonly lists: ReadonlySet<string> | null;
  readonly rules: ReadonlySet<string> | null;
  readonly services: ReadonlySet<string> | null;
  /** Policies for nobody in particular yet. */
  readonly policies: ReadonlySet<PolicySettings> | null;
  readonly safeSearch?: SafeEngine[] | false;
  /** False: nothing is filtered. */
  readonly filtering: boolean;
}

/** What everybody gets who has no share of his own. */
export interface EverybodyShare {
  /** Null: all lists. */
  lists: Set<string> | null;
  readonly rules: Set<string>;
  readonly services: Set<string>;
  readonly policies: Set<PolicySettings>;
}

export interface Member {
  readonly name: string;
  readonly ids: readonly string[];
  readonly tags: readonly string[];
  /** What its group is called. */
  readonly title: string;
  /** The same object for clients that share a group; null: nothing of its own. */
  readonly share: Share | null;
}

/** A share of nothing. */
export const NO_SHARE: Share = {
  lists: new Set(),
  rules: new Set(),
  services: new Set(),
  policies: new Set(),
  filtering: false,
};

const EVERY_ADDRESS = ['0.0.0.0/0', '::/0'];

/** Makes rules, services, policies, groups and clients of what the readers have collected. */
export function settleShares(draft: ImportDraft): void {
  new Settlement(draft).run();
}

class Settlement {
  readonly #draft: ImportDraft;
  readonly #everybody: EverybodyShare;
  readonly #rules: ReadonlySet<string>;
  readonly #services: ReadonlySet<string>;
  readonly #enabledLists: readonly string[];
  /** Shares of clients; those that filter nothing need no keeping away. */
  readonly #shares: readonly Share[];
  /** Name of the group of a share; '' when it could not be made. */
  readonly #groups = new Map<Share, string>();
  /** Groups that get a policy. */
  readonly #holders = new Map<PolicySettings, string[]>();

  constructor(draft: ImportDraft) {
    this.#draft = draft;
    this.#everybody = draft.everybody;
    const shares = draft.members.flatMap(({ share }) => (share?.filtering ? [share] : []));
    this.#shares = [...new Set(shares)];
    this.#rules = this.#common('rules');
    this.#services = this.#common('services');
    this.#enabledLists = draft.lists.filter(({ enabled }) => enabled).map(({ name }) => name);
  }

  run(): void {
    const { members, spareGroups, rules, services } = this.#draft;
    rules.push(...this.#rules);
    services.push(...this.#services);
    const others = this.#needsOthers() ? this.#addGroup(this.#draft.everybodyTitle, OTHERS) : null;
    for (const { name, ids, tags, title, share } of members) {
      const group = share === null ? others : this.#groupOf(title, share);
      if (group === '') this.#draft.skip('clients', name, 'its group is not taken');
      else this.#draft.addClient({ name, ids: [...ids], tags: [...tags], group: group ?? '' });
    }
    for (const { title, share } of spareGroups) this.#groupOf(title, share);
    if (others !== null && others !== '') {
      this.#draft.addClient({ name: 'All others', ids: [...EVERY_ADDRESS], group: others });
      this.#draft.othersGroup = others;
    }
    this.#addPolicies(others !== null);
  }

  /** What everybody has and no share is without. */
  #common(key: 'rules' | 'services'): Set<string> {
    const sets = this.#shares.flatMap((share) => share[key] ?? []);
    return new Set(
      [...this.#everybody[key]].filter((one) => sets.every((other) => other.has(one))),
    );
  }

  #needsOthers(): boolean {
    const { lists, rules, services, policies } = this.#everybody;
    const hasOwnPolicies = this.#shares.some((share) => share.policies !== null);
    return (
      this.#rules.size < rules.size ||
      this.#services.size < services.size ||
      (lists !== null && !this.#enabledLists.every((name) => lists.has(name))) ||
      (policies.size > 0 && hasOwnPolicies)
    );
  }

  #groupOf(title: string, share: Share): string {
    const known = this.#groups.get(share);
    if (known !== undefined) return known;
    const name = this.#addGroup(title, share);
    this.#groups.set(share, name);
    return name;
  }

  #addGroup(title: string, share: Share): string {
    const rules = this.#rulesOf(share);
    if (rules.length > LIMITS.groupRulesMax) {
      const why = `it has more than ${String(LIMITS.groupRulesMax)} rules`;
      this.#draft.skip('groups', title, why);
      return '';
    }
    const services = share.services ?? this.#everybody.services;
    const lists = this.#listsOf(share);
    const name = freeName(cleanTitle(title) || 'Group', (other) => this.#draft.hasName(other));
    const group = this.#draft.addGroup({
      name,
      ...(lists !== null && { lists }),
      rules,
      services: [...services].filter((id) => !this.#services.has(id)),
      ...(share.safeSearch !== undefined && { safeSearch: share.safeSearch }),
      filtering: share.filtering,
    });
    if (group === null) return '';
    for (const policy of share.policies ?? this.#everybody.policies) {
      this.#holders.set(policy, [...(this.#holders.get(policy) ?? []), name]);
    }
    return name;
  }

  /** All or none: rules of one layer are weighed against each other, those of two are not. */
  #rulesOf(share: Share): string[] {
    const rules = share.rules ?? this.#everybody.rules;
    return [...rules].every((rule) => this.#rules.has(rule)) ? [] : [...rules];
  }

  /** In the order of the draft; null for all. */
  #listsOf(share: Share): string[] | null {
    const lists = share.lists ?? this.#everybody.lists;
    if (lists === null || this.#enabledLists.every((name) => lists.has(name))) return null;
    return this.#draft.lists.map(({ name }) => name).filter((name) => lists.has(name));
  }

  /** Without a group of all others, what is everybody's is for all. */
  #addPolicies(hasOthers: boolean): void {
    const { policies } = this.#everybody;
    for (const policy of new Set([...policies, ...this.#holders.keys()])) {
      const isForAll = policies.has(policy) && !hasOthers;
      const clients = isForAll ? [] : (this.#holders.get(policy) ?? []);
      if (isForAll || clients.length > 0) this.#draft.addPolicy({ ...policy, clients });
    }
  }
}

/** As everybody, as a group. */
const OTHERS: Share = {
  lists: null,
  rules: null,
  services: null,
  policies: null,
  filtering: true,
};
