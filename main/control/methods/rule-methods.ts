/**
 * The methods about the user's own rules: those of the settings, and those that end by themselves.
 * Called by the service.
 */
import { isIP } from 'node:net';
import type { Config } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import type { MethodArguments, MethodName, MethodOutput } from '../../contract/methods/methods.ts';
import type { ConfigStore } from '../settings/config-store.ts';
import {
  checkRule,
  planAddRule,
  planRemoveRule,
  ruleForClient,
  ruleSubject,
} from '../settings/rule-edits.ts';
import type { TemporaryRules } from '../settings/temporary-rules.ts';

export interface RuleParts {
  readonly store: ConfigStore;
  readonly temporary: TemporaryRules;
}

type RuleMethod = Extract<MethodName, `rules.${string}`>;
type RuleHandlers = {
  readonly [Name in RuleMethod]: (
    input: MethodArguments<Name>,
  ) => Promise<MethodOutput<Name>> | MethodOutput<Name>;
};

export function makeRuleHandlers({ store, temporary }: RuleParts): RuleHandlers {
  const list = (): MethodOutput<'rules.list'> => ({
    rules: store.config.rules,
    temporary: [...temporary.all],
  });
  return {
    'rules.list': list,
    'rules.add': async ({ rule, minutes, client }) => {
      const whole = client === undefined ? rule : ruleForClient(rule, knownClient(store, client));
      if (minutes === undefined) {
        await store.edit('rules', (config) => planAddRule(config, whole));
        await temporary.replaceBy(whole);
      } else {
        checkRule(whole);
        await temporary.add(ruleSubject(whole).entry, minutes);
      }
      return list();
    },
    'rules.remove': async ({ rule }) => {
      const isEnded = await temporary.remove(rule);
      if (!isEnded) await store.edit('rules', (config) => planRemoveRule(config, rule));
      return list();
    },
  };
}

/**
 * A client's name as the settings write it, or an address.
 *
 * @throws AppError ARGUMENT_INVALID when it is neither
 */
function knownClient({ config }: { readonly config: Config }, text: string): string {
  if (isIP(text) > 0) return text;
  const wanted = text.toLowerCase();
  const found = config.clients.find(({ name }) => name.toLowerCase() === wanted);
  if (found) return found.name;
  throw new AppError(
    'ARGUMENT_INVALID',
    `client: "${text}" is neither an address nor the name of a client in the settings`,
  );
}
