/**
 * What became of one line of a list. Returned by every line parser (formats/*.ts), counted by
 * parse-list.ts, shown to people through REASONS.
 *
 * Every line has exactly one verdict, so rules + comments + ignored = lines.
 */
export const LINE_RESULT = {
  /** Blank, or a comment. */
  comment: 0,
  /** At least one name was taken from it. */
  rule: 1,
  cosmetic: 2,
  path: 3,
  regex: 4,
  modifier: 5,
  pattern: 6,
  address: 7,
  local: 8,
  wide: 9,
  nameLength: 10,
  labelLength: 11,
  characters: 12,
  words: 13,
  lineLength: 14,
  dnsmasq: 15,
  unbound: 16,
  modifierValue: 17,
  regexInvalid: 18,
  regexLarge: 19,
  never: 20,
  patternCost: 21,
  patternsFull: 22,
  rulesFull: 23,
  upstream: 24,
  trigger: 25,
  action: 26,
  record: 27,
  zone: 28,
  hidden: 29,
} as const;
export type Verdict = (typeof LINE_RESULT)[keyof typeof LINE_RESULT];

/** Why a line was ignored, in words for the list page. Index = verdict; the first two are none. */
export const REASONS: readonly string[] = [
  '',
  '',
  'cosmetic rule: hides parts of pages, which DNS cannot',
  'rule for a path, port or URL: DNS sees only names',
  'regular expression in a list of another format',
  'rule with modifiers that mean nothing in DNS ($...)',
  'pattern inside a name (*, |, ^)',
  'IP address, not a name',
  'name of the machine itself, such as localhost',
  'too wide: it would match most names, a top-level domain or a public suffix',
  'name longer than 253 characters',
  'label empty or longer than 63 characters',
  'not a host name',
  'more than one word, and the first is not an IP address',
  'line longer than 64 KiB',
  'dnsmasq setting that does not block',
  'unbound setting that does not block',
  'modifier with a value that cannot be read',
  'regular expression that is not valid, or cannot run in linear time',
  'regular expression or pattern that is too large',
  'pattern that no host name can match',
  'pattern without three known characters in a row: too many of these',
  'too many patterns in all lists',
  'too many rules with conditions or answers, in all or for one name',
  'sends names to another server: see dns.suffixes in the settings',
  'RPZ trigger on clients or name servers (rpz-client-ip, rpz-nsdname, rpz-nsip): not supported',
  'RPZ action that is not supported',
  'record of a type that is not supported, or with a wrong value',
  'name outside the zone of the list',
  'local-data that the type of its zone leaves no room for',
];

const KNOWN_SYNTAX: ReadonlySet<number> = new Set([
  LINE_RESULT.cosmetic,
  LINE_RESULT.path,
  LINE_RESULT.regex,
  LINE_RESULT.modifier,
  LINE_RESULT.pattern,
  LINE_RESULT.wide,
  LINE_RESULT.modifierValue,
  LINE_RESULT.never,
  LINE_RESULT.patternCost,
  LINE_RESULT.patternsFull,
  LINE_RESULT.rulesFull,
  LINE_RESULT.trigger,
  LINE_RESULT.action,
]);

/**
 * Whether an ignored line is one that its dialect knows and DNS has no use for, as opposed to text
 * that is no list line at all. Validation (validate.ts) looks at the latter.
 */
export function isKnownSyntax(verdict: number): boolean {
  return KNOWN_SYNTAX.has(verdict);
}
