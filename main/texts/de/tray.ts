/** Das Menü des Symbols in der Taskleiste. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('de');

export const tray: Texts['tray'] = {
  on: 'Der Schutz ist an',
  off: 'Der Schutz ist aus',
  paused: 'Pausiert',
  pausedUntil: (time) => `Pausiert bis ${time}`,
  blocked: (blocked, queries) =>
    `${number(blocked)} von ${counted(queries, 'Anfrage', 'Anfragen')} gesperrt`,
  protection: 'Schutz',
  pauseFor: (minutes) => `${counted(minutes, 'Minute', 'Minuten')} pausieren`,
  resume: 'Jetzt fortsetzen',
  takeover: 'Für alle Programme auf diesem Computer verwenden',
  takeoverStates: {
    off: '',
    applying: 'Umstellung auf Sluice …',
    on: 'Alle DNS-Anfragen gehen über Sluice',
    degraded: 'Manche Verbindungen umgehen Sluice',
    portal: 'Pausiert für die WLAN-Anmeldung',
    restoring: 'Bisheriges DNS wird wiederhergestellt …',
  },
  open: 'Sluice öffnen',
  quit: 'Beenden',
};
