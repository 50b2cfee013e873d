/** Die Seite Richtlinien: Dienste, sichere Suche, Umgehung, lokale Einträge. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('de');

export const services: Texts['services'] = {
  title: 'Richtlinien',
  lead: 'Dienste sperren und Regeln nach Client und Zeit festlegen.',
  parts: {
    label: 'Bereiche der Richtlinien',
    policies: 'Richtlinien',
    services: 'Dienste',
    search: 'Sichere Suche und Umgehung',
    names: 'Lokale Einträge',
  },

  blocked: 'Gesperrte Dienste',
  blockedLead:
    'Angekreuzte Dienste sind für alle gesperrt. Nur für einige Clients sperrst du sie in deren Gruppe auf der Seite Clients.',
  find: 'Dienst suchen',
  findHint: 'Dienst oder Domain suchen',
  noneBlocked: 'keiner gesperrt',
  someBlocked: (blocked, all) => `${number(blocked)} von ${number(all)} gesperrt`,
  blockAll: 'Alle sperren',
  blockNone: 'Alle freigeben',
  blockAllOf: (category) => `Alle sperren: ${category}`,
  blockNoneOf: (category) => `Alle freigeben: ${category}`,
  noMatch: 'Kein passender Dienst',
  noMatchHint:
    'Eine Domain, die zu keinem Dienst gehört, sperrst du mit einer Regel oder Richtlinie.',
  nowBlocked: (count) => `${counted(count, 'Dienst ist', 'Dienste sind')} jetzt gesperrt.`,
  noLongerBlocked: (count) =>
    `${counted(count, 'Dienst ist', 'Dienste sind')} nicht mehr gesperrt.`,
  categories: {
    social: 'Soziale Medien',
    messaging: 'Nachrichten und Anrufe',
    video: 'Video',
    music: 'Musik und Audio',
    games: 'Spiele',
    shopping: 'Einkaufen',
    ai: 'KI-Assistenten',
    dating: 'Dating',
    news: 'Nachrichtenportale',
    files: 'Dateien',
    other: 'Sonstiges',
  },

  safeSearch: 'Sichere Suche',
  safeSearchLead:
    'Suchmaschinen lassen anstößige Ergebnisse weg, was auch immer im Browser eingestellt ist. Gruppen können davon abweichen.',
  safeSearchOf: (engine) => `Sichere Suche bei ${engine}`,
  on: 'An',
  off: 'Aus',
  youtube: 'Einschränkung bei YouTube',
  moderate: 'Mittel',
  strict: 'Streng',

  bypass: 'Umgehung des Filters',
  bypassLead:
    'Browser und Geräte können öffentliche Server verschlüsselt fragen statt Sluice, oder ein Relay benutzen.',
  bypassSwitch: 'Umgehung sperren (öffentliches DoH, Relays)',
  bypassBlocked: 'Gesperrt',
  bypassOpen: 'Erlaubt',
  bypassBlockedMeans:
    'Die Namen bekannter öffentlicher DNS-Server und Relays sind gesperrt, damit Programme auf den Server des Netzes ausweichen. Programme mit fest eingebauten Adressen hält das nicht auf.',
  bypassOpenMeans:
    'Schalte ein, um die Namen bekannter öffentlicher DNS-Server und Relays zu sperren, damit Programme auf den Server des Netzes ausweichen.',

  records: {
    title: 'Lokale Einträge',
    lead: 'Sluice beantwortet sie vor dem Filter und schickt sie nie nach außen. *.nas.example gilt für alle Namen darunter.',
    name: 'Name',
    type: 'Typ',
    value: 'Wert',
    valueOf: (means) => `Wert: ${means}`,
    ttl: 'TTL',
    ttlSeconds: 'TTL in Sekunden',
    seconds: (seconds) => `${number(seconds)} s`,
    add: 'Eintrag hinzufügen',
    remove: 'Entfernen',
    removeOne: (type, name) => `${type} von ${name} entfernen`,
    removed: (name) => `Der Eintrag von ${name} wurde entfernt.`,
    none: 'Keine lokalen Einträge',
    noneHint:
      'Gib oben einem Drucker oder Server deines Netzes einen Namen, unter dem er dann erreichbar ist.',
    values: {
      A: 'eine IPv4-Adresse',
      AAAA: 'eine IPv6-Adresse',
      CNAME: 'ein anderer Name',
      TXT: 'ein Text',
      MX: 'Vorrang und Name',
      SRV: 'Priorität, Gewicht, Port und Name',
      PTR: 'der Name einer Adresse',
    },
  },
};
