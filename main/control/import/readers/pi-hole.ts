/**
 * Reads what Pi-hole writes: gravity.db, Teleporter archives of version 5 (tar.gz) and 6 (zip), and
 * the settings files pihole.toml, setupVars.conf and pihole-FTL.conf alone. Called by import-file.ts.
 */
import { AppError } from '../../../contract/errors.ts';
import { LIMITS } from '../../../contract/limits.ts';
import { untar, unzip, type ArchiveFiles } from '../draft/archive.ts';
import { takeDnsmasq } from './dnsmasq.ts';
import { ImportDraft } from '../draft/draft.ts';
import { readGravityTables } from './gravity.ts';
import { takeHosts } from './hosts.ts';
import type { OnStage } from '../draft/source.ts';
import { isSetupVars, isToml, takeFtlConf, takeSetupVars, takeToml } from './pi-hole-settings.ts';
import { takePiHoleTables, type PiHoleTables } from './pi-hole-tables.ts';
import { bytesSource, type ImportSource } from '../draft/source.ts';
import { fields, items, type Fields } from '../draft/values.ts';

const NO_DHCP = 'Sluice gives no addresses by DHCP';
/** Settings of dnsmasq that Pi-hole makes of its own, which are read elsewhere. */
const GENERATED = /(?:^|\/)(?:01-pihole|02-pihole-dhcp|04-pihole-static-dhcp|06-rfc6761)\.conf$/;
const DNSMASQ_FILE = /(?:^|\/)dnsmasq\.d\/[^/]+$/;

/** @throws AppError IMPORT_REFUSED */
export function readGravity(source: ImportSource, onStage: OnStage): ImportDraft {
  const draft = new ImportDraft('Pi-hole gravity.db');
  takePiHoleTables(readGravityTables(source, onStage), draft);
  return draft;
}

/** @throws AppError IMPORT_REFUSED */
export async function readTeleporterZip(zip: Uint8Array, onStage: OnStage): Promise<ImportDraft> {
  const files = await unzip(zip, (name) => ZIP_FILES.has(name) || DNSMASQ_FILE.test(name));
  const draft = new ImportDraft('Pi-hole 6 Teleporter archive');
  const toml = files.get('etc/pihole/pihole.toml');
  const gravity = files.get('etc/pihole/gravity.db');
  if (!toml && !gravity) throw refused('the archive holds no Pi-hole settings');
  const readsFolder = toml ? takeToml(textOf(toml), draft).readsDnsmasqFolder : true;
  if (gravity) {
    const source = bytesSource(gravity, 'gravity.db');
    takePiHoleTables(readGravityTables(source, onStage), draft);
  }
  for (const [name, bytes] of files) {
    if (name === 'etc/hosts') takeHosts(textOf(bytes), draft);
    else if (name === 'etc/pihole/dhcp.leases') draft.skip('other', name, NO_DHCP);
    else if (!DNSMASQ_FILE.test(name)) continue;
    else if (readsFolder) takeDnsmasq(textOf(bytes), draft);
    else draft.skip('other', name, 'Pi-hole does not read it (misc.etc_dnsmasq_d)');
  }
  return draft;
}

const ZIP_FILES = new Set([
  ...['etc/pihole/pihole.toml', 'etc/pihole/gravity.db', 'etc/pihole/dhcp.leases', 'etc/hosts'],
]);

/** @throws AppError IMPORT_REFUSED */
export function readTeleporterTar(gzip: Uint8Array): ImportDraft {
  const files = untar(gzip, () => true);
  const draft = new ImportDraft('Pi-hole 5 Teleporter archive');
  const isOurs = files.has('adlist.json') || [...files.keys()].some((name) => name in DOMAIN_FILES);
  if (!isOurs) throw refused('the archive holds no Pi-hole settings');
  takePiHoleTables(jsonTables(files), draft);
  for (const [name, bytes] of files) takeTextFile(name, bytes, draft);
  return draft;
}

/** Whether a text is one of Pi-hole's settings files. @param head  its beginning */
export function isPiHoleSettings(head: string): boolean {
  return isToml(head) || isSetupVars(head) || isFtlConf(head);
}

/** One of those files alone. @throws AppError IMPORT_REFUSED */
export function readPiHoleText(content: string): ImportDraft {
  if (isToml(content)) {
    const draft = new ImportDraft('Pi-hole 6 settings');
    takeToml(content, draft);
    return draft;
  }
  const draft = new ImportDraft('Pi-hole 5 settings');
  if (isSetupVars(content)) takeSetupVars(content, draft);
  else takeFtlConf(content, draft);
  return draft;
}

function isFtlConf(head: string): boolean {
  return /^(?:BLOCKINGMODE|PRIVACYLEVEL|MAXDBDAYS|RATE_LIMIT)=/m.test(head);
}

/** Files of version 5 with parts of the domainlist, and their type; that in the rows may be absent. */
const DOMAIN_FILES: Readonly<Record<string, number>> = {
  'whitelist.exact.json': 0,
  'blacklist.exact.json': 1,
  'whitelist.regex.json': 2,
  'blacklist.regex.json': 3,
};

function jsonTables(files: ArchiveFiles): PiHoleTables {
  const rows = (name: string): Fields[] => {
    const bytes = files.get(name);
    if (!bytes) return [];
    try {
      return items(JSON.parse(textOf(bytes))).map(fields);
    } catch {
      throw refused(`its file ${name} is not valid JSON`);
    }
  };
  const domainlist = Object.entries(DOMAIN_FILES).flatMap(([name, type]) =>
    rows(name).map((row): Fields => ({ type, ...row })),
  );
  return {
    domainlist,
    group: rows('group.json'),
    adlist: rows('adlist.json'),
    client: rows('client.json'),
    adlist_by_group: rows('adlist_by_group.json'),
    domainlist_by_group: rows('domainlist_by_group.json'),
    client_by_group: rows('client_by_group.json'),
  };
}

/** Local records and upstreams of version 5 lie in text files of dnsmasq's and its own. */
function takeTextFile(name: string, bytes: Uint8Array, draft: ImportDraft): void {
  if (name === 'custom.list') takeHosts(textOf(bytes), draft);
  else if (name === 'setupVars.conf') takeSetupVars(textOf(bytes), draft);
  else if (name === 'pihole-FTL.conf') takeFtlConf(textOf(bytes), draft);
  else if (/static-dhcp/.test(name)) draft.skip('other', name, NO_DHCP);
  else if (DNSMASQ_FILE.test(name) && !GENERATED.test(name)) takeDnsmasq(textOf(bytes), draft);
}

function textOf(bytes: Uint8Array): string {
  if (bytes.length > LIMITS.importTextBytesMax) throw refused('a text in it is too long');
  return Buffer.from(bytes).toString('utf8');
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', why);
}
