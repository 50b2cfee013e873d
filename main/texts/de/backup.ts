/** Die Seite Sicherung. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('de');

export const backup: Texts['backup'] = {
  lead: 'Sichere Sluice und stelle es wieder her, oder importiere aus einem anderen Programm.',

  save: 'Sichern',
  saveLead:
    'Einstellungen mit ihren Kommentaren, Regeln, Richtlinien, Clients und der Stand der Listen. Das Anfragenlog ist nicht dabei.',
  saveNow: 'Sichern …',
  saved: (file) => `${file} wurde heruntergeladen.`,

  restore: 'Sicherung wiederherstellen',
  restoreLead: 'Ersetzt alle jetzigen Einstellungen durch eine Sicherung.',
  restoreFrom: 'Sicherungsdatei',
  restoreHint: 'Eine Datei, die oben oder mit „sluice settings export“ gesichert wurde.',
  restoreNow: 'Wiederherstellen …',
  restoring: 'Wird wiederhergestellt …',
  restored: (time, lists) =>
    `Die Sicherung vom ${time} ist wiederhergestellt, mit ${counted(lists, 'Liste', 'Listen')}.`,
  confirm: 'Alle Einstellungen ersetzen?',
  confirmMeans: {
    before: 'Alle jetzigen Einstellungen werden ersetzt durch die aus',
    after: '. Sichere sie vorher, falls du sie vielleicht wiederhaben willst.',
  },
  replaceAll: 'Alle Einstellungen ersetzen',

  import: 'Aus einem anderen Programm importieren',
  importLead:
    'Aus Pi-hole, AdGuard Home, blocky, uBlock Origin, dnsmasq, unbound, dnscrypt-proxy oder einer hosts-Datei. Du siehst, was importiert werden kann, bevor sich etwas ändert.',
  importFrom: 'Datei des anderen Programms',
  importHint: 'Zum Beispiel gravity.db, ein Teleporter-Archiv oder AdGuardHome.yaml.',
  preview: 'Vorschau',
  openingFile: 'Die Datei wird geöffnet …',
  isImported: 'importiert',
  importChosen: 'Auswahl importieren',
  importing: 'Wird importiert …',
  importedFrom: (program) => `Aus ${program} importiert.`,
  imported: 'Importiert',
  canBeImported: 'Kann importiert werden',
  nothingFound: 'Nichts zu importieren.',
  skipped: 'Übersprungen',
  nothingSkipped: 'Nichts wird übersprungen.',
  timesSkipped: (count, why) => `${number(count)} × ${why}`,
  isNew: (count) => `${number(count)} neu`,
  isKnown: (count) => `${number(count)} schon vorhanden`,
  replaces: (servers) => `ersetzt ${counted(servers, 'jetzigen Server', 'jetzige Server')}`,
  sections: {
    lists: 'Listen',
    rules: 'Regeln',
    groups: 'Gruppen',
    clients: 'Clients',
    records: 'Lokale Einträge',
    services: 'Gesperrte Dienste',
    policies: 'Richtlinien',
    safeSearch: 'Sichere Suche',
    upstreams: 'Upstream-Server',
    blocking: 'Antwort auf gesperrte Anfragen',
    other: 'Weitere Einstellungen',
  },
};
