/**
 * Writes an entry of Pi-hole's domainlist as a rule of this program. Pi-hole's exact entries mean
 * the name alone; its regular expressions may have options behind ";". Pure.
 */

const EXACT_ALLOW = 0;
const EXACT_DENY = 1;
const REGEX_ALLOW = 2;
const REGEX_DENY = 3;

/** @param type  column of the table: 0 exact allow, 1 exact deny, 2 regex allow, 3 regex deny */
export function piHoleRule(
  type: number,
  domain: string,
): { readonly text: string } | { readonly why: string } {
  switch (type) {
    case EXACT_ALLOW:
      return { text: `@@|${domain}^` };
    case EXACT_DENY:
      return { text: `|${domain}^` };
    case REGEX_ALLOW:
    case REGEX_DENY:
      return regexRule(domain, type === REGEX_ALLOW);
    default:
      return { why: `its type ${String(type)} is not known` };
  }
}

/** The options are those of Pi-hole's FTL: querytype, invert, reply. */
function regexRule(
  domain: string,
  isAllow: boolean,
): { readonly text: string } | { readonly why: string } {
  const [pattern = '', ...options] = domain.split(';');
  const modifiers = options.map((option) => modifierOf(option, isAllow));
  const wrong = modifiers.indexOf('');
  if (wrong >= 0) return { why: `its option ";${options[wrong] ?? ''}" has no equal here` };
  const subtree = wholeSubtree(pattern);
  const body = subtree === '' ? `/${pattern.replaceAll(/(?<!\\)\//g, '\\/')}/` : `||${subtree}^`;
  const end = modifiers.length > 0 ? `$${modifiers.join(',')}` : '';
  return { text: `${isAllow ? '@@' : ''}${body}${end}` };
}

/** A modifier that says the same as an option; '' when there is none. */
function modifierOf(option: string, isAllow: boolean): string {
  const [name, value = ''] = option.split('=', 2);
  if (name === 'querytype') return /^!?[a-z0-9,]+$/i.test(value) ? dnsTypes(value) : '';
  const reply = REPLIES[value.toUpperCase()];
  return name === 'reply' && reply !== undefined && !isAllow ? `dnsrewrite=${reply}` : '';
}

/** Answers that a rewrite can give. "reply=IP" and "none" mean this machine and silence: not these. */
const REPLIES: Readonly<Record<string, string>> = {
  NXDOMAIN: 'NXDOMAIN',
  REFUSED: 'REFUSED',
  NODATA: 'NOERROR',
};

/** "A,AAAA" and "!A" as the modifier writes them. */
function dnsTypes(value: string): string {
  const isNot = value.startsWith('!');
  const types = value.replace('!', '').toUpperCase().split(',');
  return `dnstype=${types.map((type) => (isNot ? `~${type}` : type)).join('|')}`;
}

/** The name when an expression is Pi-hole's own way to write "this and all below"; else ''. */
function wholeSubtree(pattern: string): string {
  const match = /^\((?:\\\.\|\^|\^\|\\\.)\)((?:[a-z0-9-]+\\\.)+[a-z0-9-]+)\$$/i.exec(pattern);
  return match?.[1]?.replaceAll('\\.', '.') ?? '';
}
