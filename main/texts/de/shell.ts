/** Der Rahmen aller Seiten. */
import type { Texts } from '../en/index.ts';

export const shell: Texts['shell'] = {
  pages: {
    activity: 'Aktivität',
    log: 'Log',
    lists: 'Listen',
    rules: 'Regeln',
    policies: 'Richtlinien',
    clients: 'Clients',
    network: 'Netzwerk',
    health: 'Zustand',
    backup: 'Sicherung',
  },
  groups: { queries: 'Anfragen', filter: 'Filter', system: 'System' },
  navigation: 'Seiten',
  needsAttention: 'braucht Aufmerksamkeit',
  skip: 'Zum Inhalt springen',
  language: 'Sprache',
  languages: { auto: 'Systemsprache', en: 'English', de: 'Deutsch' },

  mark: {
    on: 'Schutz an',
    paused: 'Pausiert',
    off: 'Schutz aus',
    lost: 'Keine Verbindung',
    unknown: 'Verbinde …',
  },

  connectionLost: 'Verbindung verloren, neuer Versuch läuft …',
  connectionLostMeans:
    'Sluice antwortet nicht. Dieses Fenster zeigt den letzten bekannten Stand und läuft weiter, sobald Sluice wieder antwortet.',
  attention: 'Sluice läuft, aber etwas braucht Aufmerksamkeit',
  details: 'Einzelheiten',

  noConnection: 'Keine Verbindung zu Sluice',
  noConnectionMeans: 'Diese Seite wird geladen, sobald Sluice wieder antwortet.',
  notLoaded: 'Konnte nicht geladen werden',
  tryAgain: 'Erneut versuchen',
  loading: 'Wird geladen …',

  cancel: 'Abbrechen',
  saving: 'Wird gespeichert …',
  close: 'Schließen',
  undo: 'Rückgängig',
  dismiss: 'Ausblenden',

  access: 'Zugang',
  accessToken: 'Zugangstoken',
  accessNeeded: {
    before: 'Dieses Sluice verlangt ein Zugangstoken. Öffne den Link, den',
    after: 'auf dem Rechner ausgibt, auf dem es läuft, oder gib das Token hier ein.',
  },
  continue: 'Weiter',
  tokenLifetime: 'Das Token bleibt erhalten, bis du diesen Tab schließt.',
};
