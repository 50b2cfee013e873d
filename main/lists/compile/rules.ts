/**
 * The user's own rules: `||name^` blocks a name and everything below it, `@@||name^` allows it; plain
 * `name`, `*.name` and `@@name` are accepted as well, and so is all of AdGuard's DNS syntax
 * (formats/adblock.ts). A rule that would match nearly everything has to say so with `$wide`.
 *
 * Called by the service when a rule is added and when the policy is built. The rule set is small and
 * made anew at each edit; that of the lists is not touched by it.
 */
import { AppError } from '../../contract/errors.ts';
import { FLAG_ALLOW } from '../../engine/filter/domain-table.ts';
import { LIST_ID_RULES } from '../../engine/filter/engine-config.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';
import { parseAdblockLine } from '../formats/adblock.ts';
import type { HostName } from '../formats/host-name.ts';
import { Line } from '../formats/line.ts';
import { REASONS, LINE_RESULT, type Verdict } from '../formats/line-result.ts';
import { RuleSetBuilder } from './rule-set-builder.ts';
import type { RuleSink, Terms } from '../formats/rule-sink.ts';

export interface Rule {
  readonly action: 'block' | 'allow';
  /** Of a rule for a plain name, in presentation form: lower case, A-labels; else ''. */
  readonly name: string;
  /** As it is kept: `||name^` or `@@||name^` for a plain name, else as it was written. */
  readonly text: string;
}

const HOW_TO_WRITE = 'write ||name^ to block a name and all below it, or @@||name^ to allow it';
const LINE_FEED = 0x0a;
const DOLLAR = 0x24;
const SLASH = 0x2f;
const NOTHING = new Uint8Array(0);
/** Confirms that a rule is meant to be as wide as it is. */
const WIDE = /[$,]wide(?=,|$)/;

/**
 * @throws AppError RULE_INVALID, naming the rule, what is wrong with it and what to write
 */
export function parseRule(text: string): Rule {
  const found = new PlainName();
  readRule(new Line(NOTHING, found, { isOwn: true }), text);
  const trimmed = text.trim();
  if (found.name === '' || WIDE.test(trimmed)) {
    return { action: trimmed.startsWith('@@') ? 'allow' : 'block', name: '', text: trimmed };
  }
  const entry = `||${found.name}^`;
  return found.isAllow
    ? { action: 'allow', name: found.name, text: `@@${entry}` }
    : { action: 'block', name: found.name, text: entry };
}

/**
 * Compiles rules into a rule set with list id LIST_ID_RULES. The line of a rule is its 1-based index;
 * of two equal rules the first counts.
 *
 * @throws AppError RULE_INVALID at the first rule that does not parse
 */
export function compileRules(rules: readonly string[]): RuleBuffers {
  const builder = new RuleSetBuilder();
  builder.beginList(LIST_ID_RULES);
  const line = new Line(NOTHING, builder, { isOwn: true });
  for (const text of rules) readRule(line, text);
  return builder.finish();
}

/** Keeps the name of a rule that is nothing but one. */
class PlainName implements RuleSink {
  name = '';
  isAllow = false;

  addWildcard(): Verdict {
    return LINE_RESULT.rule;
  }

  addRegex(): Verdict {
    return LINE_RESULT.rule;
  }

  addNetwork(): Verdict {
    return LINE_RESULT.rule;
  }

  addName(name: HostName, flags: number, _line: number, terms: Terms): Verdict {
    // Any other flag makes it more than a plain name.
    if (terms === null && flags <= FLAG_ALLOW) this.name = name.text;
    this.isAllow = flags === FLAG_ALLOW;
    return LINE_RESULT.rule;
  }
}

function readRule(line: Line, text: string): void {
  line.bytes = Buffer.from(text);
  line.moveTo(0, line.bytes.length);
  line.allowWide = WIDE.test(text.trim());
  const verdict = isOneLine(line) ? parseAdblockLine(line) : LINE_RESULT.words;
  if (verdict !== LINE_RESULT.rule) throw invalid(text, reasonOf(verdict, line));
}

/** Blanks have a place in expressions and in the values of modifiers only. */
function isOneLine(line: Line): boolean {
  if (line.findBlank(line.start) === line.end) return true;
  return (line.byteAt(0) === SLASH || line.find(DOLLAR, line.start) < line.end) && isUnbroken(line);
}

function isUnbroken(line: Line): boolean {
  return line.find(LINE_FEED, line.start) === line.end;
}

function reasonOf(verdict: Verdict, line: Line): string {
  if (line.start === line.end) return 'it is empty';
  if (verdict === LINE_RESULT.wide) {
    return (
      'it would cover a whole top-level domain or public suffix, or most names; a rule needs a ' +
      'name with a dot, such as ads.example, or $wide at its end if that is meant'
    );
  }
  return REASONS_OF_RULES[verdict] ?? (REASONS[verdict] as string);
}

const REASONS_OF_RULES: Partial<Record<Verdict, string>> = {
  [LINE_RESULT.cosmetic]: 'cosmetic rules do not work in DNS',
  [LINE_RESULT.path]: 'rules are for names, without URL, port or path',
  [LINE_RESULT.modifier]: 'one of its modifiers ($...) means nothing in DNS',
  [LINE_RESULT.labelLength]: 'a label of the name is empty or longer than 63 characters',
  [LINE_RESULT.characters]: 'that is no host name',
  [LINE_RESULT.words]: 'it has more than one word',
};

function invalid(text: string, why: string): AppError {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return new AppError('RULE_INVALID', `rule "${shown}" cannot be used: ${why}; ${HOW_TO_WRITE}`);
}
