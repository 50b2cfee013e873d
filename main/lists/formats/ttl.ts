/** TTLs as zone files write them: seconds, or numbers with units as in `1h30m`. RFC 2308 §4, BIND. */

/** Source of an expression for one, for the patterns of whole records. */
export const TTL_PATTERN = '\\d[\\dsmhdw]{0,20}';
/** Of a rule's answer; longer ones would outlive the list. */
const TTL_SECONDS_MAX = 86_400;
const UNIT_SECONDS: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3_600,
  d: 86_400,
  w: 604_800,
};

/** Seconds, at most a day; null when the text is no TTL. */
export function readTtl(text: string): number | null {
  const lower = text.toLowerCase();
  if (!/^(?:\d{1,10}|(?:\d{1,10}[smhdw])+)$/.test(lower)) return null;
  let seconds = 0;
  for (const [, digits, unit] of lower.matchAll(/(\d+)([smhdw]?)/g)) {
    seconds += Number(digits) * (UNIT_SECONDS[unit ?? ''] ?? 1);
  }
  return Math.min(seconds, TTL_SECONDS_MAX);
}
