/** The menu of the desktop app's tray icon. */
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('en');

export const tray = {
  on: 'Protection is on',
  off: 'Protection is off',
  paused: 'Paused',
  pausedUntil: (time: string) => `Paused until ${time}`,
  blocked: (blocked: number, queries: number) =>
    `${number(blocked)} of ${counted(queries, 'query', 'queries')} blocked`,
  protection: 'Protection',
  pauseFor: (minutes: number) => `Pause for ${counted(minutes, 'minute', 'minutes')}`,
  resume: 'Resume now',
  takeover: 'Use for all apps on this computer',
  takeoverStates: {
    off: '',
    applying: 'Switching to Sluice…',
    on: 'All DNS goes through Sluice',
    degraded: 'Some connections bypass Sluice',
    portal: 'Paused for Wi-Fi login',
    restoring: 'Restoring previous DNS…',
  },
  open: 'Open Sluice',
  quit: 'Quit',
};
