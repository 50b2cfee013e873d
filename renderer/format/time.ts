/** Times as people read them, in the reader's own zone; the clock always has 24 hours. */
const minute = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});
const second = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const day = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' });
const full = new Intl.DateTimeFormat(undefined, {
  dateStyle: 'full',
  timeStyle: 'medium',
  hourCycle: 'h23',
});

/** 14:35. */
export function formatMinute(timeMs: number): string {
  return minute.format(timeMs);
}

/** 14:35:07. */
export function formatSecond(timeMs: number): string {
  return second.format(timeMs);
}

/** 14:35 today, otherwise with the day: "30 Nov, 14:35". */
export function formatMoment(timeMs: number, nowMs: number): string {
  return isSameDay(timeMs, nowMs)
    ? minute.format(timeMs)
    : `${day.format(timeMs)}, ${minute.format(timeMs)}`;
}

/** 14:35:07 today, otherwise with the day. */
export function formatRowTime(timeMs: number, nowMs: number): string {
  return isSameDay(timeMs, nowMs)
    ? second.format(timeMs)
    : `${day.format(timeMs)}, ${second.format(timeMs)}`;
}

/** Everything, for a tooltip. */
export function formatFull(timeMs: number): string {
  return full.format(timeMs);
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
  if (minutes < 1) return 'less than a minute';
  if (minutes < 120) return unit(minutes, 'minute');
  const hours = Math.floor(minutes / 60);
  return hours < 48 ? unit(hours, 'hour') : unit(Math.floor(hours / 24), 'day');
}

function unit(count: number, name: 'minute' | 'hour' | 'day'): string {
  return new Intl.NumberFormat('en', { style: 'unit', unit: name, unitDisplay: 'long' }).format(
    count,
  );
}

/** In the reader's own zone. */
export function isSameDay(oneMs: number, otherMs: number): boolean {
  return new Date(oneMs).toDateString() === new Date(otherMs).toDateString();
}
