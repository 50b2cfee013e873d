/** Die Seite Zustand. */
import type { Texts } from '../en/index.ts';
import { wordingOf } from '../language/wording.ts';

const { counted } = wordingOf('de');

export const health: Texts['health'] = {
  title: 'Zustand',
  fine: 'Alles läuft',
  fineMeans: 'Anfragen werden beantwortet, und nichts braucht Aufmerksamkeit.',
  worthKnowing: 'Gut zu wissen',

  running: 'Status',
  listensOn: 'Lauscht auf',
  noAddress: 'keiner Adresse',
  forwardsTo: 'Upstream-Server',
  noUpstream: 'keine',
  blocks: 'Sperrt',
  domains: (domains) => counted(domains, 'Domain', 'Domains'),
  log: 'Log',
  logOff: 'aus',
  logState: { ok: 'läuft', degraded: 'kann nicht geschrieben werden', off: 'aus' },
  logMode: {
    full: 'mit Client-Adressen',
    anonymous: 'mit gekürzten Client-Adressen',
    off: 'keine Einträge',
  },
  logHolds: (state, queries, size, mode) =>
    `${state}: ${counted(queries, 'Anfrage', 'Anfragen')}, ${size}, ${mode}`,
  uptime: 'Läuft seit',
  memory: 'Speicher',
  resident: (size) => `${size} resident`,
  residentOf: (size, anonymous) => `${size} resident, davon ${anonymous} anonym`,
  version: 'Version',

  use: 'Sluice verwenden',
  listensNowhere: 'Sluice lauscht auf keiner Adresse und kann keine Anfragen annehmen.',
  tryIt: 'Eine Testanfrage senden:',
  useHere: {
    before: 'Für alle Programme auf diesem Computer schaltest du Sluice hier ein:',
    after: '. Die bisherigen DNS-Server kommen zurück, sobald Sluice endet.',
  },
  copy: 'Kopieren',
  copyLine: (line) => `${line} kopieren`,
  copied: 'Kopiert',
  notCopied: 'Nicht kopiert',

  upstreams: 'Upstream-Server',
  upstreamsLead:
    'Für Namen, die nicht im Cache sind. Gezählt wird, seit der Server eingestellt ist.',
  server: 'Server',
  state: 'Zustand',
  responseTime: 'Antwortzeit',
  sent: 'Anfragen',
  failures: 'Fehler',
  upstreamState: {
    up: 'In Ordnung',
    slow: 'Langsam',
    down: 'Antwortet nicht',
    refusing: 'Liefert nur Fehler',
    untried: 'Noch nicht verwendet',
    unresolved: 'Adresse unbekannt',
  },
  protocol: {
    udp: 'unverschlüsselt',
    tcp: 'unverschlüsselt, über TCP',
    tls: 'verschlüsselt (DNS over TLS)',
    https: 'verschlüsselt (DNS over HTTPS)',
  },

  queues: 'Warteschlangen',
  queuesLead:
    'Alle Warteschlangen sind begrenzt; was nicht hineinpasst, wird verworfen und hier gezählt.',
  queue: 'Warteschlange',
  waiting: 'Wartend',
  capacity: 'Kapazität',
  full: 'Füllstand',
  fullOf: (queue) => `Füllstand von ${queue}`,
  dropped: 'Verworfen',
};
