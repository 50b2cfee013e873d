/**
 * Plans changes to the user's own rules: pure, run inside an edit of the config store; and the
 * methods that make them. Used by service.ts.
 */
import type { Config } from '../contract/config.ts';
import { AppError } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';
import type { MethodArguments, MethodOutput } from '../contract/methods.ts';
import { parseRule, type Rule } from '../lists/rules.ts';
import type { ConfigStore, EditPlan } from './config-store.ts';

type RulePlan = EditPlan<'rules'> | undefined;
type Rules = MethodOutput<'rules.list'>;

/** The methods about the user's own rules. */
export function ruleHandlers(store: ConfigStore) {
  return {
    'rules.list': (): Rules => ({ rules: store.config.rules }),
    'rules.add': async ({ rule }: MethodArguments<'rules.add'>): Promise<Rules> => {
      const { rules } = await store.edit('rules', (config) => planAddRule(config, rule));
      return { rules };
    },
    'rules.remove': async ({ rule }: MethodArguments<'rules.remove'>): Promise<Rules> => {
      const { rules } = await store.edit('rules', (config) => planRemoveRule(config, rule));
      return { rules };
    },
  };
}

/**
 * Adds a rule. One that is there already changes nothing; one that says the opposite about the same
 * name is replaced, because an allow rule would otherwise keep winning over a new block rule.
 *
 * @throws AppError RULE_INVALID; TOO_MANY beyond LIMITS.rulesMax
 */
export function planAddRule({ rules }: Config, text: string): RulePlan {
  const rule = parseRule(text);
  const entry = rule.text;
  let opposite = -1;
  for (const [index, other] of rules.entries()) {
    if (other === entry) return undefined;
    if (rule.name === '' || !mayName(other, rule.name)) continue;
    const { action, name } = parseRule(other);
    if (name !== rule.name) continue;
    if (action === rule.action) return undefined;
    opposite = index;
  }
  if (opposite >= 0) {
    const change = { kind: 'replace', index: opposite, entry } as const;
    return { change, wanted: rules.with(opposite, entry), isSound: true };
  }
  if (rules.length >= LIMITS.rulesMax) {
    throw new AppError(
      'TOO_MANY',
      `adding ${entry} failed: ${String(LIMITS.rulesMax)} rules exist`,
    );
  }
  return { change: { kind: 'append', entry }, wanted: [...rules, entry], isSound: true };
}

/** Whether a rule can be one for a name. Reading thousands of them takes a while; this does not. */
function mayName(text: string, name: string): boolean {
  // Beyond ASCII a name has two spellings.
  return /[^\0-\x7f]/.test(text) || text.toLowerCase().includes(name);
}

/** Removes a rule, given in any spelling of it. @throws AppError RULE_UNKNOWN */
export function planRemoveRule({ rules }: Config, text: string): RulePlan {
  const index = indexOfRule(rules, text);
  if (index < 0) throw new AppError('RULE_UNKNOWN', `no such rule: ${text}`);
  return { change: { kind: 'remove', index }, wanted: rules.toSpliced(index, 1), isSound: true };
}

/** Null for a text that is no rule, so that none can be equal to it. */
function readRule(text: string): Rule | null {
  try {
    return parseRule(text);
  } catch (error) {
    if (error instanceof AppError && error.code === 'RULE_INVALID') return null;
    throw error;
  }
}

function indexOfRule(rules: readonly string[], text: string): number {
  const exact = rules.indexOf(text);
  if (exact >= 0) return exact;
  const wanted = readRule(text);
  if (wanted === null) return -1;
  return rules.findIndex((other) => {
    return parseRule(other).text === wanted.text;
  });
}
