/** The menu of the desktop app's tray icon. */
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('en');

export const tray = {
  blocked: (blocked: number, queries: number) =>
    `${number(blocked)} of ${counted(queries, 'query', 'queries')} blocked`,
  pauseFor: (minutes: number) => `Pause for ${counted(minutes, 'minute', 'minutes')}`,
  open: 'Open Sluice',
  quit: 'Quit',
};
