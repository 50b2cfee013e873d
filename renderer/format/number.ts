/** Numbers as people read them, in the reader's own locale. */
import { byLocale } from './by-locale.ts';

const whole = byLocale((locale) => new Intl.NumberFormat(locale, { maximumFractionDigits: 0 }));
const oneDigit = byLocale((locale) => new Intl.NumberFormat(locale, { maximumFractionDigits: 1 }));
const percent = byLocale(
  (locale) => new Intl.NumberFormat(locale, { style: 'percent', maximumFractionDigits: 1 }),
);

/** 12,345. */
export function formatCount(count: number): string {
  return whole().format(count);
}

/** "1 query", "12,345 queries". */
export function formatNoun(count: number, one: string, many: string): string {
  return `${whole().format(count)} ${count === 1 ? one : many}`;
}

/** Share of a whole, "12.3%"; of nothing it is 0. */
export function formatShare(part: number, total: number): string {
  return percent().format(total === 0 ? 0 : part / total);
}

/** A duration given in microseconds: < 1 µs, 85 µs, 1.2 ms, 340 ms, 1.9 s. */
export function formatDuration(us: number): string {
  if (us < 1) return '< 1 µs';
  if (us < 1_000) return `${whole().format(us)} µs`;
  const ms = us / 1_000;
  if (ms < 10) return `${oneDigit().format(ms)} ms`;
  if (ms < 1_000) return `${whole().format(ms)} ms`;
  return `${oneDigit().format(ms / 1_000)} s`;
}

/** Bytes as KiB, MiB or GiB. */
export function formatBytes(bytes: number): string {
  const kib = bytes / 1_024;
  if (kib < 1_024) return `${oneDigit().format(kib)} KiB`;
  const mib = kib / 1_024;
  return mib < 1_024 ? `${oneDigit().format(mib)} MiB` : `${oneDigit().format(mib / 1_024)} GiB`;
}
