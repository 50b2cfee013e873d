/** Die Seite Netzwerk. */
import type { Texts } from '../en/index.ts';

export const network: Texts['network'] = {
  title: 'Netzwerk',
  takeover: {
    label: 'Dieser Computer',
    switch: 'Sluice für alle Programme auf diesem Computer verwenden',
    titles: {
      off: 'Sluice ist nicht das System-DNS',
      applying: 'Umstellung auf Sluice …',
      on: 'Alle DNS-Anfragen gehen über Sluice',
      degraded: 'Manche Verbindungen umgehen Sluice',
      portal: 'Pausiert für die WLAN-Anmeldung',
      restoring: 'Wird zurückgestellt …',
    },
    left: (time) => `noch ${time}`,
    covers: (links, owner) =>
      `${links}, eingestellt über ${owner}. Die bisherigen DNS-Server kommen zurück, sobald Sluice endet, wie auch immer.`,
    offMeans:
      'Schalte ein, und alle Programme hier verwenden Sluice. Schalte aus oder beende Sluice, und alles ist wie vorher.',
    filterAgain: 'Wieder filtern',
    login: 'Für die WLAN-Anmeldung pausieren',
    loginHint: 'Für höchstens fünf Minuten gehen Anfragen an die Server dieses Netzes',
    restore: 'Bisheriges DNS wiederherstellen',
    restoring: 'Wird wiederhergestellt …',
    restored: 'Deine bisherigen DNS-Einstellungen sind wieder da.',
    noLoginServers: 'Dieses Netz nennt keine DNS-Server für die Anmeldung.',
    and: 'und',
  },
  owners: {
    'systemd-resolved': 'systemd-resolved',
    networkmanager: 'NetworkManager',
    resolvconf: 'resolvconf',
    'resolv.conf': 'die Datei /etc/resolv.conf',
    macos: 'macOS',
    windows: 'Windows',
  },
  noOwner: 'Auf diesem Computer wurde keine DNS-Verwaltung gefunden.',
  managedBy: (owner) => `Verwaltet durch ${owner}.`,

  links: 'Netzwerkverbindungen',
  noLinks: 'Keine Netzwerkverbindung. Sluice übernimmt, sobald es eine gibt.',
  link: 'Verbindung',
  usesSluice: 'Verwendet Sluice',
  yes: 'ja',
  no: 'nein',
  serversNow: 'DNS-Server jetzt',
  serversBefore: 'Bisherige DNS-Server',
  none: 'keine',
  forDomains: (domains) => `für ${domains}`,

  bypasses: 'Browser und Container',
  bypassesLead: 'Programme mit eigenem DNS umgehen Sluice.',
  bypass: { bypasses: 'umgeht Sluice', prevented: 'verwendet Sluice', unknown: 'unbekannt' },
  noBypass:
    'Nichts gefunden. Ein Browser mit eigenem DNS-Server umgeht Sluice; das ist von hier nicht zu sehen.',

  safety: 'Sicherheit',
  safetyLead:
    'Deine Einstellungen werden gesichert, bevor etwas geändert wird. Ein kleiner eigener Prozess stellt sie wieder her, falls Sluice ausfällt.',
  journal: 'Journal',
  journalNone: 'zurzeit keines; sein Ort ist',
  journalWritten: (time) => `geschrieben ${time} in`,
  lastRescue: 'Letzte automatische Wiederherstellung',
  never: 'nie',
  rescued: {
    'app-ended': (time) => `${time}: Sluice war beendet`,
    'engine-silent': (time) => `${time}: Sluice antwortete nicht mehr`,
  },
  rescuedAll: 'alles wurde wiederhergestellt',
  rescuedPartly: 'nicht alles konnte wiederhergestellt werden',
  terminalHint: 'Dasselbe im Terminal, falls dieses Fenster versagt:',

  permissions: 'Berechtigungen',
  permissionsLead:
    'Port 53 und die DNS-Einstellungen sind für gewöhnliche Programme gesperrt. Dieser Computer bietet diese Möglichkeiten:',
  permissionState: {
    works: 'funktioniert hier',
    possible: 'möglich',
    'not here': 'nicht verfügbar',
  },
  commands: 'Befehle, und wie man sie rückgängig macht',
  toUndo: 'Rückgängig machen:',
  run: 'Diese Befehle ausführen',
  remove: 'Entfernen',
  passwordHint: 'Das System fragt nach einem Administratorpasswort.',
  installed: 'Die Berechtigung ist eingerichtet.',
  removed: 'Die Berechtigung ist entfernt.',
  noPermission: 'Keine. Nur Programme, die den Port nennen, können Sluice verwenden.',
};
