/**
 * The modifiers of AdGuard's DNS syntax: what stands behind `$` in a rule.
 *
 * important, badfilter, denyallow, dnstype, dnsrewrite, client and ctag mean something here. Every
 * other one (third-party, script, domain, app, network, document ...) speaks of requests of a browser
 * or an app, which DNS does not see: the rule is then left out as a whole, as AdGuard Home does.
 */
import { FLAG_IMPORTANT } from '../../engine/filter/domain-table.ts';
import { typeNumber } from '../../dns/record-type.ts';
import type { ClientNetwork, RuleTermsText } from '../../engine/filter/rule-terms.ts';
import { BADFILTER } from './rule-sink.ts';
import { readNetwork } from './address-bytes.ts';
import { readRewrite } from './dns-rewrite.ts';
import { HostName } from './host-name.ts';
import { LINE_RESULT, type Verdict } from './line-result.ts';

export interface Modifiers {
  flags: number;
  /** Sluice's own, for user rules: confirms a rule that is too wide. */
  isWide: boolean;
  terms: { -readonly [Key in keyof RuleTermsText]: RuleTermsText[Key] };
}

const VALUES_MAX = 1_024;
const name = new HostName();

/** @returns  the modifiers, or why the rule cannot be used */
export function readModifiers(text: string, isAllow: boolean): Modifiers | Verdict {
  const found: Modifiers = { flags: 0, isWide: false, terms: {} };
  for (const item of text.split(/(?<!\\),/)) {
    const cut = item.indexOf('=');
    const key = (cut < 0 ? item : item.slice(0, cut)).trim();
    const value = cut < 0 ? '' : item.slice(cut + 1).trim();
    const verdict = READERS[key]?.(found, value, isAllow) ?? LINE_RESULT.modifier;
    if (verdict !== LINE_RESULT.rule) return verdict;
  }
  return found;
}

type Reader = (found: Modifiers, value: string, isAllow: boolean) => Verdict;

const READERS: Readonly<Partial<Record<string, Reader>>> = {
  important: (found, value) => {
    found.flags |= FLAG_IMPORTANT;
    return isEmpty(value);
  },
  badfilter: (found, value) => {
    found.flags |= BADFILTER;
    return isEmpty(value);
  },
  wide: (found, value) => {
    found.isWide = true;
    return isEmpty(value);
  },
  denyallow: ({ terms }, value) => {
    const names = value.split('|').map(readDomain);
    if (names.length > VALUES_MAX || names.includes(null)) return LINE_RESULT.modifierValue;
    terms.denyAllow = names as string[];
    return LINE_RESULT.rule;
  },
  dnstype: ({ terms }, value) => {
    const [some, others] = halves(value);
    const types = some.map(typeNumber);
    const notTypes = others.map(typeNumber);
    if ([...types, ...notTypes].some((type) => type < 0)) return LINE_RESULT.modifierValue;
    if (types.length > 0) terms.types = types;
    if (notTypes.length > 0) terms.notTypes = notTypes;
    return LINE_RESULT.rule;
  },
  client: ({ terms }, value) => {
    const [some, others] = halves(value);
    const clients = some.map(readClient);
    const notClients = others.map(readClient);
    if ([...clients, ...notClients].includes('')) return LINE_RESULT.modifierValue;
    if (clients.length > 0) terms.clients = clients;
    if (notClients.length > 0) terms.notClients = notClients;
    return LINE_RESULT.rule;
  },
  ctag: ({ terms }, value) => {
    const [tags, notTags] = halves(value.toLowerCase());
    if (![...tags, ...notTags].every((tag) => /^\w+$/.test(tag))) return LINE_RESULT.modifierValue;
    if (tags.length > 0) terms.tags = tags;
    if (notTags.length > 0) terms.notTags = notTags;
    return LINE_RESULT.rule;
  },
  dnsrewrite: (found, value, isAllow) => {
    const rewrite = value === '' ? null : readRewrite(value);
    if (rewrite === null && (value !== '' || !isAllow)) return LINE_RESULT.modifierValue;
    if (isAllow) found.terms.undo = rewrite === null ? '' : JSON.stringify(rewrite);
    else if (rewrite !== null) found.terms.rewrite = rewrite;
    // Answers come before allow rules, as in AdGuard Home.
    if (!isAllow) found.flags |= FLAG_IMPORTANT;
    return LINE_RESULT.rule;
  },
};

function isEmpty(value: string): Verdict {
  return value === '' ? LINE_RESULT.rule : LINE_RESULT.modifierValue;
}

/** The values of a list with `|`, and those of it with `~` in front. At least one has to be there. */
function halves(value: string): [string[], string[]] {
  const items = value.split(/(?<!\\)\|/).map((item) => item.trim());
  const chosen = items.filter((item) => !item.startsWith('~'));
  return [chosen, items.filter((item) => item.startsWith('~')).map((item) => item.slice(1))];
}

/** A name in lower case, or a network; '' when it is neither. */
function readClient(text: string): string | ClientNetwork {
  const bare = text.replace(/^(["'])(.*)\1$/, '$2').replaceAll(/\\(.)/g, '$1');
  const network = readNetwork(bare);
  if (network === null) return bare.toLowerCase();
  return [Buffer.from(network.bytes).toString('hex'), network.bits];
}

function readDomain(text: string): string | null {
  const bytes = Buffer.from(text.trim());
  return name.read(bytes, 0, bytes.length) === LINE_RESULT.rule ? name.text : null;
}
