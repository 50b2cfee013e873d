/**
 * Takes the written form of a rule apart as far as people and edits need it: what it does, to what,
 * and under which conditions. lists/compile/rules.ts says whether it is one at all. Pure.
 *
 *   @@ || ads.example ^ $ client=192.0.2.7,dnstype=AAAA
 *   action   pattern      modifiers
 */

export interface RuleText {
  readonly action: 'block' | 'allow';
  /** As written, without modifiers. */
  readonly pattern: string;
  readonly modifiers: readonly Modifier[];
}

export interface Modifier {
  /** Lower case. */
  readonly name: string;
  /** As written; '' without one. */
  readonly value: string;
}

export function readRuleText(text: string): RuleText {
  const trimmed = text.trim();
  const isAllow = trimmed.startsWith('@@');
  const body = isAllow ? trimmed.slice(2) : trimmed;
  const at = modifiersAt(body);
  return {
    action: isAllow ? 'allow' : 'block',
    pattern: body.slice(0, at),
    modifiers: at === body.length ? [] : splitModifiers(body.slice(at + 1)),
  };
}

/** Where the $ stands; the length without one. Names hold none, expressions end with a slash. */
function modifiersAt(body: string): number {
  if (!body.startsWith('/')) {
    const at = body.indexOf('$');
    return at < 0 ? body.length : at;
  }
  const at = body.lastIndexOf('/$');
  return at <= 0 || body.endsWith('/') ? body.length : at + 1;
}

/** Commas separate, unless a backslash stands before one or it is in quotes. */
function splitModifiers(text: string): Modifier[] {
  const parts = text.match(/(?:'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\\.|[^,])+/g) ?? [];
  return parts.map((part) => {
    const [name = '', ...value] = part.split('=');
    return { name: name.trim().toLowerCase(), value: value.join('=').trim() };
  });
}

/** The rule with one more modifier. */
export function withModifier(rule: string, modifier: string): string {
  const { modifiers } = readRuleText(rule);
  return `${rule.trim()}${modifiers.length === 0 ? '$' : ','}${modifier}`;
}

export function hasModifier(rule: string, name: string): boolean {
  return readRuleText(rule).modifiers.some((modifier) => modifier.name === name);
}

/** A client's name or address as the value of $client. */
export function clientValue(client: string): string {
  if (/^[\w.:-]+$/.test(client)) return client;
  return `'${client.replace(/[\\',|]/g, '\\$&')}'`;
}

const TYPES_MAX = 8;

/** Under which conditions a rule holds, in words; '' for always. */
export function conditionText(rule: string): string {
  const { modifiers } = readRuleText(rule);
  return modifiers
    .map(({ name, value }) => {
      const [only, never] = readValues(value);
      if (name === 'denyallow') return `not ${listText([...only, ...never])} and below`;
      const noun = NOUNS[name];
      if (noun === undefined) return '';
      return [
        only.length === 0 ? '' : `only ${noun} ${listText(only)}`,
        never.length === 0 ? '' : `not ${noun} ${listText(never)}`,
      ]
        .filter((part) => part !== '')
        .join(', ');
    })
    .filter((part) => part !== '')
    .join('; ');
}

const NOUNS: Readonly<Record<string, string>> = {
  dnstype: 'type',
  client: 'client',
  ctag: 'clients with the tag',
};

/** Values as they are, and those behind "~". */
function readValues(value: string): [string[], string[]] {
  const parts = value.match(/(?:\\.|[^|\\])+/g) ?? [];
  const only: string[] = [];
  const never: string[] = [];
  for (const part of parts) {
    const isNot = part.startsWith('~');
    const bare = (isNot ? part.slice(1) : part).replace(/^(['"])(.*)\1$/, '$2');
    (isNot ? never : only).push(bare.replace(/\\(.)/g, '$1'));
  }
  return [only, never];
}

function listText(texts: readonly string[]): string {
  const shown = texts.slice(0, TYPES_MAX);
  const rest = texts.length > shown.length ? ['…'] : [];
  return [...shown, ...rest].join(', ');
}
