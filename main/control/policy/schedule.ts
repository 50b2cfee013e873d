/**
 * When a policy's schedule holds, by the wall clock of its time zone, and when that changes next.
 * Used by filters.ts in the control plane; pure but for the machine's own time zone.
 *
 * A schedule speaks of clock faces: "22:00 to 06:30" begins when the clock there shows 22:00 and is
 * over when it shows 06:30, whatever the clocks did in between. A time that a change of clocks
 * leaves out begins at the change; one that it repeats holds twice.
 */
import type { ScheduleSettings } from '../../contract/filter-config.ts';
import { WEEKDAYS } from '../../contract/filter-words.ts';

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;

/** What the clock of a time zone shows. */
interface ClockFace {
  /** 0 is Sunday. */
  readonly day: number;
  /** Since midnight. */
  readonly minute: number;
}

/** Whether a schedule holds at a moment, milliseconds since 1970. */
export function isInForce(schedule: ScheduleSettings, atMs: number): boolean {
  return holds(schedule, faceAt(schedule.timeZone, atMs));
}

/**
 * The next moment after `atMs` at which `isInForce` may change: the next edge, or a change of
 * clocks that comes before it.
 */
export function nextEdge(schedule: ScheduleSettings, atMs: number): number {
  const { timeZone } = schedule;
  const { minute } = faceAt(timeZone, atMs);
  const edges = [minutesOf(schedule.from), minutesOf(schedule.to), 0];
  const waits = edges.map((edge) => (edge - minute + DAY_MINUTES - 1) % DAY_MINUTES);
  const startMs = Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
  const edgeMs = startMs + (Math.min(...waits) + 1) * MINUTE_MS;
  return clockChange(timeZone, startMs, edgeMs) ?? edgeMs;
}

function holds({ days, from, to }: ScheduleSettings, { day, minute }: ClockFace): boolean {
  const start = minutesOf(from);
  const end = minutesOf(to);
  const isOn = (index: number): boolean => days.includes(WEEKDAYS[index] ?? 'sun');
  if (start === end) return isOn(day);
  if (start < end) return isOn(day) && minute >= start && minute < end;
  return (isOn(day) && minute >= start) || (isOn((day + 6) % 7) && minute < end);
}

function minutesOf(time: string): number {
  return Number(time.slice(0, 2)) * 60 + Number(time.slice(3, 5));
}

/** Making one takes longer than using it a hundred times. */
const formats = new Map<string, Intl.DateTimeFormat>();

function formatOf(timeZone: string): Intl.DateTimeFormat {
  let format = formats.get(timeZone);
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', {
      ...(timeZone !== '' && { timeZone }),
      hourCycle: 'h23',
      ...({ year: 'numeric', month: 'numeric', day: 'numeric' } as const),
      ...({ hour: 'numeric', minute: 'numeric' } as const),
    });
    formats.set(timeZone, format);
  }
  return format;
}

/** What the clock shows, as if it were UTC: milliseconds, whole minutes. */
function shownMs(timeZone: string, atMs: number): number {
  const shown: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {};
  for (const { type, value } of formatOf(timeZone).formatToParts(atMs)) shown[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0 } = shown;
  return Date.UTC(year, month - 1, day, hour, minute);
}

function faceAt(timeZone: string, atMs: number): ClockFace {
  const shown = new Date(shownMs(timeZone, atMs));
  return { day: shown.getUTCDay(), minute: shown.getUTCHours() * 60 + shown.getUTCMinutes() };
}

/** The minute in (startMs, endMs] from which the clock runs otherwise; undefined when none does. */
function clockChange(timeZone: string, startMs: number, endMs: number): number | undefined {
  const offset = (atMs: number): number => shownMs(timeZone, atMs) - atMs;
  const before = offset(startMs);
  if (offset(endMs) === before) return undefined;
  let low = startMs;
  let high = endMs;
  while (high - low > MINUTE_MS) {
    const middle = low + Math.floor((high - low) / 2 / MINUTE_MS) * MINUTE_MS;
    if (offset(middle) === before) low = middle;
    else high = middle;
  }
  return high;
}
