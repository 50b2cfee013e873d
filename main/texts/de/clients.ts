/** Die Seite Clients. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('de');

export const clients: Texts['clients'] = {
  title: 'Clients',
  lead: 'Gib deinen Geräten Namen, und Gruppen von ihnen einen eigenen Filter.',
  parts: { label: 'Bereiche der Seite Clients', clients: 'Clients', groups: 'Gruppen' },
  edit: 'Bearbeiten',
  editOne: (name) => `${name} bearbeiten`,
  remove: 'Entfernen',
  removeOne: (name) => `${name} entfernen`,
  tools: 'Bearbeiten oder entfernen',
  save: 'Speichern',

  named: 'Benannte Clients',
  namedLead:
    'Namen stehen in Richtlinien und Regeln anstelle von Adressen und ordnen einen Client einer Gruppe zu.',
  create: 'Neuer Client',
  none: 'Keine benannten Clients',
  noneHint: 'Wähle „Client benennen“ neben einem kürzlich gesehenen, oder füge selbst einen hinzu.',
  name: 'Name',
  identifiers: 'Kennungen',
  identifiersHint:
    'IP-Adressen, Netze wie 192.168.10.0/24 oder MAC-Adressen; eine pro Zeile. Eine MAC-Adresse bleibt, wenn die IP-Adresse wechselt.',
  group: 'Gruppe',
  noGroup: 'keine',
  defaultGroup: 'Standard',
  tags: 'Tags',
  tagsHint: 'Für Listenregeln mit $ctag, etwa device_phone oder user_child. Optional.',
  namePlaceholder: 'Annas Laptop',
  nameClient: 'Client benennen',
  editClient: 'Client bearbeiten',
  addClient: 'Client hinzufügen',
  removed: (name) => `Der Client ${name} wurde entfernt.`,

  seen: 'Kürzlich gesehen',
  seenLead: 'Die aktivsten Clients der letzten 24 Stunden.',
  nobody: 'Noch keine Clients',
  nobodyHint: 'Clients erscheinen hier, sobald sie etwas angefragt haben.',
  queries: (count) => counted(count, 'Anfrage', 'Anfragen'),
  nameThis: 'Client benennen',
  nameThisOne: (address) => `Client ${address} benennen`,

  groups: 'Gruppen',
  groupsLead:
    'Clients einer Gruppe haben eigene Listen, Regeln, Dienste und sichere Suche. Für Clients ohne Gruppe gilt der Standard.',
  createGroup: 'Neue Gruppe',
  noGroups: 'Keine Gruppen',
  noGroupsHint:
    'Lege eine für die Geräte der Kinder an, oder für Geräte, die nicht gefiltert werden sollen, und füge Clients hinzu.',
  filterGroup: (name) => `Für die Gruppe ${name} filtern`,
  editGroup: 'Gruppe bearbeiten',
  addGroup: 'Gruppe hinzufügen',
  groupPlaceholder: 'Kinder',
  filterThese: 'Für diese Clients filtern',
  notFiltered: 'Für diese Gruppe ist der Filter aus.',
  lists: 'Listen',
  allLists: 'Alle aktiven Listen',
  someLists: 'Nur einige',
  listOff: (name) => `${name} (deaktiviert)`,
  noLists: 'Es gibt noch keine Listen zur Auswahl.',
  rules: 'Regeln der Gruppe',
  rulesHint:
    'Eine pro Zeile. Sie gelten vor den Regeln für alle: ||example.com^ sperrt, @@||example.com^ erlaubt.',
  services: (blocked) => `Gesperrte Dienste (${number(blocked)})`,
  safeSearch: 'Sichere Suche',
  safe: { 'as-all': 'Standard', on: 'An', off: 'Aus', some: 'Nur einige Suchmaschinen' },
  groupRemoved: (name) => `Die Gruppe ${name} wurde entfernt.`,
  has: {
    noFilter: 'Filter aus',
    allLists: 'alle Listen',
    noLists: 'keine Listen',
    rules: (count) => counted(count, 'Regel der Gruppe', 'Regeln der Gruppe'),
    services: (count) => counted(count, 'Dienst gesperrt', 'Dienste gesperrt'),
    safeSearch: 'sichere Suche',
    noSafeSearch: 'keine sichere Suche',
    noClients: 'noch keine Clients',
  },
  groupInUse: (name) => `Die Gruppe ${name} hat noch Clients. Nimm sie zuerst heraus.`,
  policyInUse: (name) => `Eine Richtlinie gilt noch für ${name}. Ändere zuerst die Richtlinie.`,
};
