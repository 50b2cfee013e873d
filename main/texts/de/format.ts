/** Zeitspannen. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { counted } = wordingOf('de');

export const format: Texts['format'] = {
  lessThanAMinute: 'weniger als eine Minute',
  minutesLong: (minutes) => counted(minutes, 'Minute', 'Minuten'),
  hoursLong: (hours) => counted(hours, 'Stunde', 'Stunden'),
  daysLong: (days) => counted(days, 'Tag', 'Tage'),
};
