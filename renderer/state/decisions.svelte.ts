/**
 * One-click "block" and "allow" of a name: writes the user's rule, takes away an opposite one for
 * the same name, and offers to take it all back.
 */
import { SvelteMap } from 'svelte/reactivity';
import type { ServiceClient } from '../../main/contract/methods/methods.ts';
import { describeError } from '../client/call-error.ts';
import { ruleFor, type RuleAction } from '../rules/rule-text.ts';
import { t } from '../text.ts';
import type { RuleLists } from './rules.svelte.ts';
import type { Toasts } from './toasts.svelte.ts';

/** Names whose last decision is remembered for the buttons. */
const rememberedMax = 500;

export interface DecisionLimits {
  readonly minutes?: number;
  /** An address, or the name of a client. */
  readonly client?: string;
}

export class Decisions {
  readonly #client: ServiceClient;
  readonly #toasts: Toasts;
  readonly #onRules: (rules: RuleLists) => void;
  readonly #made = new SvelteMap<string, RuleAction>();

  /** @param onRules  told of the rules after each change */
  constructor(client: ServiceClient, toasts: Toasts, onRules: (rules: RuleLists) => void) {
    this.#client = client;
    this.#toasts = toasts;
    this.#onRules = onRules;
  }

  /** What was decided in this window about exactly this name, if anything. */
  of(name: string): RuleAction | undefined {
    return this.#made.get(name);
  }

  async decide(name: string, action: RuleAction): Promise<void> {
    const wanted = ruleFor(name, action);
    const opposite = ruleFor(name, action === 'block' ? 'allow' : 'block');
    try {
      const { rules } = await this.#client.call('rules.list', {});
      const isNew = !rules.includes(wanted);
      const hadOpposite = rules.includes(opposite);
      if (hadOpposite) await this.#remove(opposite);
      if (isNew) await this.#add(wanted);
      this.#remember(name, action);
      this.#toasts.show(t().rules.decided[action](name), async () => {
        if (isNew) await this.#remove(wanted);
        if (hadOpposite) await this.#add(opposite);
        this.#remember(name, undefined);
      });
    } catch (error) {
      this.#toasts.fail(describeError(error));
    }
  }

  /**
   * Decides for a while, or for one client. @returns whether it worked
   *
   * @param limits  at least one of them
   */
  async decideFor(name: string, action: RuleAction, limits: DecisionLimits): Promise<boolean> {
    const { minutes, client } = limits;
    try {
      const before = await this.#client.call('rules.list', {});
      const known = textsOf(before);
      const after = await this.#client.call('rules.add', {
        rule: ruleFor(name, action),
        ...(minutes !== undefined && { minutes }),
        ...(client !== undefined && { client }),
      });
      this.#onRules(after);
      const added = textsOf(after).find((rule) => !known.includes(rule));
      const undo = added === undefined ? null : () => this.#remove(added);
      this.#toasts.show(saidOf(name, action, limits), undo);
      return true;
    } catch (error) {
      this.#toasts.fail(describeError(error));
      return false;
    }
  }

  async #add(rule: string): Promise<void> {
    this.#onRules(await this.#client.call('rules.add', { rule }));
  }

  async #remove(rule: string): Promise<void> {
    this.#onRules(await this.#client.call('rules.remove', { rule }));
  }

  #remember(name: string, action: RuleAction | undefined): void {
    this.#made.delete(name);
    if (action !== undefined) this.#made.set(name, action);
    const oldest = this.#made.keys().next();
    if (this.#made.size > rememberedMax && !oldest.done) this.#made.delete(oldest.value);
  }
}

function textsOf({ rules, temporary }: RuleLists): string[] {
  return [...temporary.map(({ rule }) => rule), ...rules];
}

function saidOf(name: string, action: RuleAction, { minutes, client }: DecisionLimits): string {
  const said = t().rules;
  const limit = client ?? (minutes === undefined ? '' : t().format.minutesLong(minutes));
  return limit === '' ? said.decided[action](name) : said.decidedFor[action](name, limit);
}
