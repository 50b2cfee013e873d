/** Die Seite Aktivität. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('de');

export const activity: Texts['activity'] = {
  protection: 'Schutz',
  isOn: 'Der Schutz ist an',
  isOff: 'Der Schutz ist aus',
  namesBlocked: (names) =>
    `${counted(names, 'Domain ist', 'Domains sind')} samt Subdomains gesperrt.`,
  pausedUntil: (time) => `Pausiert bis ${time}`,
  left: (time) => `noch ${time}`,
  unfiltered: 'Alle Anfragen gehen ungefiltert weiter.',
  stillResolves:
    'Namen werden weiter aufgelöst. Anfragen gehen ungefiltert weiter, bis du den Schutz wieder einschaltest.',
  noAnswer: 'Sluice antwortet nicht',
  lastState: {
    on: 'Der Schutz war an.',
    paused: 'Der Schutz war pausiert.',
    off: 'Der Schutz war aus.',
  },
  loading: 'Wird geladen …',
  resume: 'Jetzt fortsetzen',
  pauseFor: 'Pause für',
  pauseAgainFor: 'Erneut pausieren für',
  minutes: (minutes) => `${number(minutes)} min`,
  hours: (hours) => counted(hours, 'Stunde', 'Stunden'),

  sinceStart: 'Seit dem Start von Sluice',
  queries: 'Anfragen',
  since: (time) => `seit ${time}`,
  blocked: 'Gesperrt',
  shareOfQueries: (share) => `${share} der Anfragen`,
  fromCache: 'Aus dem Cache',
  droppedLines: 'Verlorene Logzeilen',
  logged: (lines) => `${number(lines)} im Log`,
  answeredLocally: 'Hier beantwortet',
  answeredUpstream: 'Vom Upstream',
  noAnswerYet: 'noch keine Antworten',
  medianHint: 'Die Hälfte dieser Antworten war schneller',
  p99Hint: '99 von 100 dieser Antworten waren schneller',

  linesDropped: (lines) => `${counted(lines, 'Logzeile ging', 'Logzeilen gingen')} verloren`,
  linesDroppedMeans:
    'Es kamen mehr Anfragen, als das Log aufnehmen konnte. Alle wurden beantwortet und gezählt; nur diese Zeilen fehlen im Log.',
  dismiss: 'Ausblenden',

  live: 'Anfragen live',
  nameOrClient: 'Name oder Client',
  filterHint: 'Nur Anfragen zeigen, deren Name oder Client dies enthält',
  blockedOnly: 'Nur gesperrte',
  hold: 'Anhalten',
  follow: 'Fortsetzen',
  heldWaiting: (rows) => `Angehalten. ${counted(rows, 'neue Anfrage', 'neue Anfragen')}.`,
  heldTouched: (rows) => `Angehalten, solange du die Tabelle benutzt. ${number(rows)} neu.`,
  newest: 'Die neuesten Anfragen zuerst.',
  rowsSkipped: (rows) =>
    `${counted(rows, 'Zeile', 'Zeilen')} übersprungen (zu viele für die Anzeige).`,
  rowsSkippedLogged: 'Alle sind gezählt und stehen im Log.',
  rowsSkippedCounted: 'Alle sind gezählt.',
  waiting: 'Warte auf Anfragen …',
  noMatch: 'Keine der letzten Anfragen passt',
  noMatchHint: { before: 'Vielleicht eine ältere: Suche im', link: 'Log', after: '.' },
  noQueries: 'Noch keine Anfragen',
  pointHint: (address) => `Trage ${address} als DNS-Server eines Geräts oder dieses Computers ein.`,
  howTo: 'So geht das',

  overTime: 'Verlauf',
  timeRange: 'Zeitraum',
  ranges: { hour: '1 Stunde', day: '24 Stunden', week: '7 Tage' },
  inRange: {
    hour: (queries, blocked, share) =>
      `${counted(queries, 'Anfrage', 'Anfragen')} in der letzten Stunde, ${number(blocked)} gesperrt (${share})`,
    day: (queries, blocked, share) =>
      `${counted(queries, 'Anfrage', 'Anfragen')} in den letzten 24 Stunden, ${number(blocked)} gesperrt (${share})`,
    week: (queries, blocked, share) =>
      `${counted(queries, 'Anfrage', 'Anfragen')} in den letzten 7 Tagen, ${number(blocked)} gesperrt (${share})`,
  },
  atPoint: (time, queries, blocked) =>
    `${time}: ${counted(queries, 'Anfrage', 'Anfragen')}, ${number(blocked)} gesperrt`,

  mostBlocked: 'Am häufigsten gesperrt',
  nothingBlocked: 'In dieser Zeit wurde nichts gesperrt.',
};
