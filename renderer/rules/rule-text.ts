/**
 * The written form of user rules: ||name^ blocks a name and everything below it, @@||name^ allows
 * it. The service has the last word on what is valid.
 */
export type RuleAction = 'block' | 'allow';

export interface RuleParts {
  readonly action: RuleAction;
  readonly name: string;
}

/** The rule that does this to a name. */
export function ruleFor(name: string, action: RuleAction): string {
  return action === 'block' ? `||${name}^` : `@@||${name}^`;
}

/** Takes a rule apart for showing; null when it has another form. */
export function splitRule(rule: string): RuleParts | null {
  const match = /^(@@)?\|\|([^^]+)\^$/.exec(rule);
  if (match?.[2] === undefined) return null;
  return { action: match[1] === undefined ? 'block' : 'allow', name: match[2] };
}

/** A rule's condition on clients, for showing beside its name; '' without one. */
export function splitClient(rule: string): { readonly plain: string; readonly client: string } {
  const match = /^([^$]+)\$client=('?)((?:\\.|[^,|'\\])+)\2$/.exec(rule);
  if (match?.[1] === undefined || match[3] === undefined) return { plain: rule, client: '' };
  return { plain: match[1], client: match[3].replace(/\\(.)/g, '$1') };
}

/** What to send for what was typed: a plain name becomes a rule, a rule stays as it is. */
export function toRule(typed: string, action: RuleAction): string {
  const text = typed.trim();
  return /^(@@|\|\|)/.test(text) ? text : ruleFor(text.toLowerCase().replace(/\.$/, ''), action);
}

/** Whether one click can decide about a name: not the root, not a top-level name. */
export function canDecide(name: string): boolean {
  return /^[^\s.]+(\.[^\s.]+)+$/.test(name);
}
