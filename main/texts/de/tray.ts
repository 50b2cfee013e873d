/** Das Menü des Symbols in der Taskleiste. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('de');

export const tray: Texts['tray'] = {
  blocked: (blocked, queries) =>
    `${number(blocked)} von ${counted(queries, 'Anfrage', 'Anfragen')} gesperrt`,
  pauseFor: (minutes) => `${counted(minutes, 'Minute', 'Minuten')} pausieren`,
  open: 'Sluice öffnen',
  quit: 'Beenden',
};
