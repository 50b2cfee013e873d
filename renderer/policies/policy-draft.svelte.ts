/** A policy while it is written: what stands in the fields, and the policy that they make. */
import type { Policy } from '../client/answers.ts';
import { FieldProblem } from '../client/field-error.ts';
import { splitLines, splitWords } from '../format/lines.ts';
import { t } from '../text.ts';
import { weekdays, type Weekday } from './policy-text.ts';

export const PRIORITY_DEFAULT = 100;

export class PolicyDraft {
  readonly #enabled: boolean;
  name = $state('');
  action = $state<Policy['action']>('block');
  priority = $state(PRIORITY_DEFAULT);
  /** Words. */
  domains = $state('');
  /** One a line. */
  regex = $state('');
  isForAll = $state(true);
  /** Names of clients and groups, of those in the settings. */
  people = $state<string[]>([]);
  /** Addresses and networks, words. */
  networks = $state('');
  isAlways = $state(true);
  days = $state<Weekday[]>([...weekdays]);
  from = $state('22:00');
  to = $state('06:00');
  timeZone = $state('');
  /** Addresses as words, or one name. */
  target = $state('');

  /**
   * @param policy  to begin with; undefined for a new one
   * @param owners  names of all clients and groups
   */
  constructor(policy: Policy | undefined, owners: readonly string[]) {
    this.#enabled = policy?.enabled ?? true;
    if (policy === undefined) return;
    const { name, action, priority, domains, regex, clients, schedule, redirect } = policy;
    Object.assign(this, { name, action, priority });
    this.domains = domains.join('\n');
    this.regex = regex.join('\n');
    this.isForAll = clients.length === 0;
    this.people = clients.filter((client) => owners.includes(client));
    this.networks = clients.filter((client) => !owners.includes(client)).join('\n');
    this.isAlways = schedule === undefined;
    if (schedule !== undefined) Object.assign(this, schedule, { days: [...schedule.days] });
    if (redirect === undefined) return;
    this.target = redirect.name === '' ? redirect.addresses.join('\n') : redirect.name;
  }

  toPolicy(): Policy {
    const policy: Policy = {
      name: this.name.trim(),
      enabled: this.#enabled,
      action: this.action,
      priority: this.priority,
      domains: splitWords(this.domains).map((domain) => domain.toLowerCase()),
      regex: splitLines(this.regex),
      clients: this.isForAll ? [] : [...this.people, ...splitWords(this.networks)],
    };
    if (!this.isAlways) {
      const { days, from, to, timeZone } = this;
      policy.schedule = { days: [...days], from, to, timeZone: timeZone.trim() };
    }
    if (this.action === 'redirect') policy.redirect = redirectTo(splitWords(this.target));
    return policy;
  }

  /** @throws FieldProblem where the service would take it for something else */
  check(): void {
    if (!this.isForAll && this.people.length === 0 && splitWords(this.networks).length === 0) {
      throw new FieldProblem('clients', t().policies.chooseClients);
    }
  }
}

/** One word that is no address is a name; everything else is taken for addresses. */
function redirectTo(words: readonly string[]): NonNullable<Policy['redirect']> {
  const [first = ''] = words;
  const isName = words.length === 1 && !/^[\d.]+$|:/.test(first);
  return isName ? { addresses: [], name: first } : { addresses: [...words], name: '' };
}
