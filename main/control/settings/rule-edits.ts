/**
 * Plans changes to the user's own rules. Pure; run inside an edit of the config store.
 */
import type { Config } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { compileRules, parseRule } from '../../lists/compile/rules.ts';
import type { EditPlan } from './config-store.ts';
import { clientValue, readRuleText, withModifier, type Modifier } from '../policy/rule-text.ts';

type RulePlan = EditPlan<'rules'> | undefined;

/** What a rule speaks about, whatever its spelling. */
export interface RuleSubject {
  readonly action: 'block' | 'allow';
  /** Equal for rules about the same names under the same conditions. */
  readonly key: string;
  /** The rule in its usual form. */
  readonly entry: string;
}

/** @throws AppError RULE_INVALID, naming the rule and what is wrong with it */
export function checkRule(text: string): void {
  compileRules([text]);
}

/** Of a rule that was checked; of any other text, something that no rule has. */
export function ruleSubject(text: string): RuleSubject {
  const { action, pattern, modifiers } = readRuleText(text);
  const name = plainName(pattern);
  const subject = name === null ? pattern : `||${name}^`;
  const written = modifiers.map(modifierText);
  const conditions = written.filter((modifier) => modifier !== 'important').sort();
  const suffix = written.length === 0 ? '' : `$${written.join()}`;
  return {
    action,
    key: `${subject}$${conditions.join()}`,
    entry: `${action === 'allow' ? '@@' : ''}${subject}${suffix}`,
  };
}

function modifierText({ name, value }: Modifier): string {
  return value === '' ? name : `${name}=${value}`;
}

/** Null for a pattern that is no plain name. */
function plainName(pattern: string): string | null {
  try {
    const { name } = parseRule(pattern);
    return name === '' ? null : name;
  } catch (error) {
    if (error instanceof AppError && error.code === 'RULE_INVALID') return null;
    throw error;
  }
}

/** The same rule, for one client only. */
export function ruleForClient(rule: string, client: string): string {
  return withModifier(rule, `client=${clientValue(client)}`);
}

/**
 * Adds a rule. One that is there already changes nothing; one that says the opposite about the same
 * name is replaced, because an allow rule would otherwise keep winning over a new block rule.
 *
 * @throws AppError RULE_INVALID; TOO_MANY beyond LIMITS.rulesMax
 */
export function planAddRule({ rules }: Config, text: string): RulePlan {
  checkRule(text);
  const { action, key, entry } = ruleSubject(text);
  // Of what is more than a name, every rule has to be read.
  const name = /^\|\|([\w.-]+)\^\$/.exec(key)?.[1] ?? '';
  let opposite = -1;
  for (const [index, other] of rules.entries()) {
    if (!mayName(other, name)) continue;
    const subject = ruleSubject(other);
    if (subject.key !== key) continue;
    if (subject.action === action) return undefined;
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

function indexOfRule(rules: readonly string[], text: string): number {
  const exact = rules.indexOf(text);
  if (exact >= 0) return exact;
  const wanted = ruleSubject(text);
  return rules.findIndex((other) => {
    const { action, key } = ruleSubject(other);
    return action === wanted.action && key === wanted.key;
  });
}
