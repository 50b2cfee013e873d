/** Spans of time. */
import { wordingOf } from '../language/wording.ts';

const { counted } = wordingOf('en');

export const format = {
  lessThanAMinute: 'less than a minute',
  minutesLong: (minutes: number) => counted(minutes, 'minute', 'minutes'),
  hoursLong: (hours: number) => counted(hours, 'hour', 'hours'),
  daysLong: (days: number) => counted(days, 'day', 'days'),
};
