/** The page Backup: one file with everything, and importing from other programs. */
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('en');

export const backup = {
  lead: 'Save and restore Sluice, or import from another program.',

  save: 'Save backup',
  saveLead:
    'Settings with their comments, rules, policies, clients, and the state of the lists. The query log is not included.',
  saveNow: 'Save…',
  saved: (file: string) => `Downloaded ${file}.`,

  restore: 'Restore backup',
  restoreLead: 'Replaces all current settings with a saved backup.',
  restoreFrom: 'Backup file',
  restoreHint: 'A file saved above or with “sluice settings export”.',
  restoreNow: 'Restore…',
  restoring: 'Restoring…',
  restored: (time: string, lists: number) =>
    `Restored the backup from ${time}, with ${counted(lists, 'list', 'lists')}.`,
  confirm: 'Replace all settings?',
  confirmMeans: {
    before: 'All current settings are replaced by those in',
    after: '. Save a backup first if you may want them back.',
  },
  replaceAll: 'Replace all settings',

  import: 'Import from another program',
  importLead:
    'From Pi-hole, AdGuard Home, blocky, uBlock Origin, dnsmasq, unbound, dnscrypt-proxy or a hosts file. You see what can be imported before anything changes.',
  importFrom: 'File of the other program',
  importHint: 'For example gravity.db, a Teleporter archive or AdGuardHome.yaml.',
  preview: 'Preview',
  openingFile: 'Opening the file…',
  isImported: 'imported',
  importChosen: 'Import selected',
  importing: 'Importing…',
  importedFrom: (program: string) => `Imported from ${program}.`,
  imported: 'Imported',
  canBeImported: 'Can be imported',
  nothingFound: 'Nothing to import.',
  skipped: 'Skipped',
  nothingSkipped: 'Nothing is skipped.',
  timesSkipped: (count: number, why: string) => `${number(count)} × ${why}`,
  isNew: (count: number) => `${number(count)} new`,
  isKnown: (count: number) => `${number(count)} already here`,
  replaces: (servers: number) =>
    `replaces ${counted(servers, 'current server', 'current servers')}`,
  sections: {
    lists: 'Lists',
    rules: 'Rules',
    groups: 'Groups',
    clients: 'Clients',
    records: 'Local records',
    services: 'Blocked services',
    policies: 'Policies',
    safeSearch: 'Safe search',
    upstreams: 'Upstream servers',
    blocking: 'Answer to blocked queries',
    other: 'Other settings',
  },
};
