/** The groups of a match as plain texts, for the line parsers. */

/** The first five groups; '' for one that took no part. */
export type Groups = readonly [string, string, string, string, string];

/** All '' when the pattern does not match. */
export function groupsOf(pattern: RegExp, text: string): Groups {
  const found = pattern.exec(text);
  const group = (index: number): string => found?.[index] ?? '';
  return [group(1), group(2), group(3), group(4), group(5)];
}
