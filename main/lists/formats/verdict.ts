/**
 * What became of one line of a list. Returned by every line parser (formats/*.ts), counted by
 * parse-list.ts, shown to people through REASONS.
 *
 * Every line has exactly one verdict, so rules + comments + ignored = lines.
 */
export const VERDICT = {
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
} as const;
export type Verdict = (typeof VERDICT)[keyof typeof VERDICT];

/** Why a line was ignored, in words for the list page. Index = verdict; the first two are none. */
export const REASONS: readonly string[] = [
  '',
  '',
  'cosmetic rule: hides parts of pages, which DNS cannot',
  'rule for a path, port or URL: DNS sees only names',
  'regular expression',
  'rule with modifiers ($...)',
  'pattern inside a name (*, |, ^)',
  'IP address, not a name',
  'name of the machine itself, such as localhost',
  'too wide: a top-level domain or public suffix',
  'name longer than 253 characters',
  'label empty or longer than 63 characters',
  'not a host name',
  'more than one word, and the first is not an IP address',
  'line longer than 64 KiB',
  'dnsmasq setting: this format is not read',
  'unbound setting: this format is not read',
];

/**
 * Whether an ignored line is one that its dialect knows and DNS has no use for, as opposed to text
 * that is no list line at all. Validation (validate.ts) looks at the latter.
 */
export function isKnownSyntax(verdict: number): boolean {
  return verdict >= VERDICT.cosmetic && verdict <= VERDICT.pattern;
}
