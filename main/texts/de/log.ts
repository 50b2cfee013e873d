/** Die Seite Log. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { number } = wordingOf('de');

export const log: Texts['log'] = {
  lead: 'Alle gespeicherten Anfragen, die neuesten zuerst.',
  isOff: 'Das Log ist aus',
  isOffHint: {
    before: 'Neue Anfragen werden gezählt, aber nicht gespeichert. Das änderst du mit',
    after: 'in der Einstellungsdatei.',
  },

  search: 'Log durchsuchen',
  partOfName: 'Teil eines Namens',
  client: 'Client-Adresse',
  result: 'Ergebnis',
  anyResult: 'Alle',
  time: 'Zeit',
  periods: {
    any: 'Beliebig',
    quarter: 'Letzte 15 Minuten',
    hour: 'Letzte Stunde',
    day: 'Letzte 24 Stunden',
    week: 'Letzte 7 Tage',
    between: 'Zwischen …',
  },
  from: 'Von',
  to: 'Bis',
  start: 'Suchen',

  searching: 'Suche läuft …',
  page: (page) => `Seite ${number(page)}`,
  newer: 'Neuere',
  older: 'Ältere',
  queries: 'Anfragen',
  incomplete: 'Die Suche wurde vorzeitig beendet',
  incompleteMeans:
    'Eine Suche darf zwei Sekunden dauern. Vielleicht gibt es mehr Treffer: Wähle einen kürzeren Zeitraum, gib mehr vom Namen ein oder blättere zu älteren Zeilen.',
  nothingSoFar: 'Bisher nichts gefunden',
  noMatch: 'Keine passenden Anfragen',
  showAll: 'Alle zeigen',
  nothing: 'Noch keine gespeicherten Anfragen',
  nothingHint: 'Anfragen erscheinen hier etwa eine halbe Sekunde nach ihrer Antwort.',
};
