/** Times as people read them, in the reader's own zone; the clock always has 24 hours. */
import { t } from '../text.ts';
import { byLocale } from './by-locale.ts';

const minute = byLocale(
  (locale) =>
    new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }),
);
const second = byLocale(
  (locale) =>
    new Intl.DateTimeFormat(locale, {
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    }),
);
const day = byLocale(
  (locale) => new Intl.DateTimeFormat(locale, { day: 'numeric', month: 'short' }),
);
const full = byLocale(
  (locale) =>
    new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'medium', hourCycle: 'h23' }),
);

/** 14:35. */
export function formatMinute(timeMs: number): string {
  return minute().format(timeMs);
}

/** 14:35:07. */
export function formatSecond(timeMs: number): string {
  return second().format(timeMs);
}

/** 14:35 today, otherwise with the day: "30 Nov, 14:35". */
export function formatMoment(timeMs: number, nowMs: number): string {
  return isSameDay(timeMs, nowMs)
    ? minute().format(timeMs)
    : `${day().format(timeMs)}, ${minute().format(timeMs)}`;
}

/** 14:35:07 today, otherwise with the day. */
export function formatRowTime(timeMs: number, nowMs: number): string {
  return isSameDay(timeMs, nowMs)
    ? second().format(timeMs)
    : `${day().format(timeMs)}, ${second().format(timeMs)}`;
}

/** Everything, for a tooltip. */
export function formatFull(timeMs: number): string {
  return full().format(timeMs);
}

/** What is left of a pause: 4:12, or 1:04:12. Never below 0:00. */
export function formatLeft(ms: number): string {
  const seconds = Math.max(0, Math.ceil(ms / 1_000));
  const hours = Math.floor(seconds / 3_600);
  const minutes = Math.floor((seconds % 3_600) / 60);
  const tail = String(seconds % 60).padStart(2, '0');
  if (hours === 0) return `${String(minutes)}:${tail}`;
  return `${String(hours)}:${String(minutes).padStart(2, '0')}:${tail}`;
}

/** How long something has been so: "3 days", "2 hours", "5 minutes", "less than a minute". */
export function formatAge(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  const { lessThanAMinute, minutesLong, hoursLong, daysLong } = t().format;
  if (minutes < 1) return lessThanAMinute;
  if (minutes < 120) return minutesLong(minutes);
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? hoursLong(hours) : daysLong(Math.floor(hours / 24));
}

/** In the reader's own zone. */
export function isSameDay(oneMs: number, otherMs: number): boolean {
  return new Date(oneMs).toDateString() === new Date(otherMs).toDateString();
}
