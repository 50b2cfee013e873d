/**
 * The user's own rules: `||name^` blocks a name and everything below it, `@@||name^` allows it;
 * plain `name`, `*.name` and `@@name` are accepted as well.
 *
 * Called by the service when a rule is added and when the policy is built. The table is small and
 * made anew at each edit; the table of the lists is not touched by that.
 */
import { AppError } from '../contract/errors.ts';
import { FLAG_ALLOW, FLAG_BLOCK } from '../engine/domain-table.ts';
import type { RuleBuffers } from '../engine/rule-set.ts';
import { LIST_ID_RULES } from '../engine/policy.ts';
import { HostName } from './formats/host-name.ts';
import { VERDICT, type Verdict } from './formats/verdict.ts';
import { TableBuilder } from './table-builder.ts';

export interface Rule {
  readonly action: 'block' | 'allow';
  /** Presentation form: lower case, A-labels, no trailing dot. */
  readonly name: string;
}

const HOW_TO_WRITE = 'write ||name^ to block a name and all below it, or @@||name^ to allow it';

/**
 * @throws AppError RULE_INVALID, naming the rule, what is wrong with it and what to write
 */
export function parseRule(text: string): Rule {
  const name = new HostName();
  return { action: readRule(text, name), name: name.text };
}

/**
 * Compiles rules into a table with list id LIST_ID_RULES. The line of an entry is the 1-based index
 * of its rule; of two equal rules the first counts.
 *
 * @throws AppError RULE_INVALID at the first rule that does not parse
 */
export function compileRules(rules: readonly string[]): RuleBuffers {
  const builder = new TableBuilder();
  const name = new HostName();
  for (const [index, text] of rules.entries()) {
    const flag = readRule(text, name) === 'allow' ? FLAG_ALLOW : FLAG_BLOCK;
    builder.add(name.bytes, name.length, name.hash, LIST_ID_RULES, flag, index + 1);
  }
  return { table: builder.finish(), program: null };
}

function readRule(text: string, name: HostName): Rule['action'] {
  const match = /^(@@)?(\|\|)?(\*\.|\.)?([^|^$/*\s]+?)(\^\|?|\|)?$/.exec(text.trim());
  if (!match) throw invalid(text, whyNoRule(text.trim()));
  const [, allow, , , nameText] = match;
  const bytes = Buffer.from(nameText as string, 'utf8');
  const verdict = name.readAny(bytes, 0, bytes.length);
  if (verdict !== VERDICT.rule) throw invalid(text, WRONG_NAMES[verdict] ?? whyNoRule(text));
  if (name.labelCount < 2) {
    throw invalid(
      text,
      'it would cover a whole top-level domain; a rule needs a name with a dot, such as ads.example',
    );
  }
  return allow === undefined ? 'block' : 'allow';
}

const WRONG_NAMES: Partial<Record<Verdict, string>> = {
  [VERDICT.address]: 'that is an IP address, and rules are for names',
  [VERDICT.nameLength]: 'the name is longer than 253 characters',
  [VERDICT.labelLength]: 'a label of the name is empty or longer than 63 characters',
  [VERDICT.path]: 'rules are for names, without port or path',
};

/** The likeliest mistake in a text that has not the shape of a rule. */
function whyNoRule(text: string): string {
  if (text === '') return 'it is empty';
  if (text.includes('##') || text.includes('#@#')) return 'cosmetic rules do not work in DNS';
  if (text.includes('$')) return 'modifiers ($...) are not supported';
  if (text.includes('/')) return 'rules are for names, without URL, path or regular expression';
  if (text.includes('*')) return '* may only stand at the front, as in *.ads.example';
  if (/\s/.test(text)) return 'it has more than one word';
  return 'that is no host name';
}

function invalid(text: string, why: string): AppError {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return new AppError('RULE_INVALID', `rule "${shown}" cannot be used: ${why}; ${HOW_TO_WRITE}`);
}
