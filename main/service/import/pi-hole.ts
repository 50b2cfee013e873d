/**
 * Reads what Pi-hole writes: gravity.db, and Teleporter archives of version 5 (tar.gz) and 6 (zip).
 * Called by import-file.ts.
 */
import { mkdtemp, open, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { parse as parseToml } from 'smol-toml';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { untar, unzip, type ArchiveFiles } from './archive.ts';
import { ImportDraft } from './draft.ts';
import { takeHosts } from './hosts.ts';
import { PI_HOLE_TABLES, takePiHoleTables, type PiHoleTables } from './pi-hole-tables.ts';
import { dnsmasqServer, fields, isOn, items, reverseSuffix, text, texts } from './values.ts';
import type { Fields } from './values.ts';

/** Bytes 18 and 19 of a database file: 2 means write-ahead log, which a copy does not have. */
const JOURNAL_AT = 18;
const JOURNAL_ROLLBACK = Uint8Array.of(1, 1);

/** @throws AppError IMPORT_REFUSED */
export async function readGravity(database: Uint8Array): Promise<ImportDraft> {
  const draft = new ImportDraft('Pi-hole gravity.db');
  takePiHoleTables(await gravityTables(database), draft);
  return draft;
}

/** @throws AppError IMPORT_REFUSED */
export async function readTeleporterZip(zip: Uint8Array): Promise<ImportDraft> {
  const files = await unzip(zip, (name) => ZIP_FILES.has(name));
  const draft = new ImportDraft('Pi-hole 6 Teleporter archive');
  const toml = files.get('etc/pihole/pihole.toml');
  const gravity = files.get('etc/pihole/gravity.db');
  if (!toml && !gravity) throw refused('the archive holds no Pi-hole settings');
  if (toml) takeSettings(tomlFields(toml), draft);
  if (gravity) takePiHoleTables(await gravityTables(gravity), draft);
  const hosts = files.get('etc/hosts');
  if (hosts) takeHosts(textOf(hosts), draft);
  if (files.has('etc/pihole/dhcp.leases')) {
    draft.skip('other', 'etc/pihole/dhcp.leases', 'Sluice gives no addresses by DHCP');
  }
  return draft;
}

/** The settings file of version 6 alone. @throws AppError IMPORT_REFUSED */
export function readPiHoleToml(toml: Uint8Array): ImportDraft {
  const draft = new ImportDraft('Pi-hole 6 settings');
  takeSettings(tomlFields(toml), draft);
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
  const groups = rows('group.json');
  return {
    domainlist,
    group: groups.length > 0 ? groups : [{ id: 0, name: 'Default', enabled: 1 }],
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
  else if (name.endsWith('05-pihole-custom-cname.conf')) takeAliases(textOf(bytes), draft);
  else if (name === 'setupVars.conf') takeSetupVars(textOf(bytes), draft);
  else if (/static-dhcp/.test(name)) draft.skip('other', name, 'Sluice gives no addresses by DHCP');
}

function takeAliases(content: string, draft: ImportDraft): void {
  for (const line of content.split('\n')) {
    const match = /^\s*cname=(.+)$/.exec(line);
    if (match) takeAlias(match[1] ?? '', draft);
  }
}

/** "alias[,alias...],target[,TTL]" */
function takeAlias(value: string, draft: ImportDraft): void {
  const parts = value.split(',').map((part) => part.trim());
  const ttl = /^\d+$/.test(parts.at(-1) ?? '') ? Number(parts.pop()) : undefined;
  const target = parts.pop() ?? '';
  for (const alias of parts) draft.addRecord(alias, 'CNAME', target, ttl);
}

function takeSetupVars(content: string, draft: ImportDraft): void {
  for (const line of content.split('\n')) {
    const [key = '', value = ''] = line.split('=', 2);
    if (/^PIHOLE_DNS_\d+$/.test(key)) draft.addUpstream(dnsmasqServer(value.trim()));
    else if (key === 'DHCP_ACTIVE' && value.trim() === 'true') {
      draft.skip('other', 'DHCP', 'Sluice gives no addresses by DHCP');
    }
  }
}

/** Section [dns] of pihole.toml. */
function takeSettings(settings: Fields, draft: ImportDraft): void {
  const dns = fields(settings['dns']);
  for (const server of texts(dns['upstreams'])) draft.addUpstream(dnsmasqServer(server));
  takeHosts(texts(dns['hosts']).join('\n'), draft);
  for (const alias of texts(dns['cnameRecords'])) takeAlias(alias, draft);
  for (const line of texts(dns['revServers'])) takeRevServer(line, draft);
  if (isOn(fields(settings['dhcp'])['active'] ?? false)) {
    draft.skip('other', 'dhcp', 'Sluice gives no addresses by DHCP');
  }
  const extra = texts(fields(settings['misc'])['dnsmasq_lines']);
  for (const line of extra) draft.skip('other', line, 'lines for dnsmasq are not read');
}

/** "<enabled>,<network>[/<prefix>],<server>[#<port>][,<domain>]" */
function takeRevServer(line: string, draft: ImportDraft): void {
  const [enabled, network = '', server = '', domain = ''] = line.split(',').map(text);
  if (enabled !== 'true') {
    draft.skip('upstreams', line, 'it is switched off in Pi-hole');
    return;
  }
  for (const suffix of [reverseSuffix(network), domain]) {
    if (suffix !== '') draft.addUpstream(dnsmasqServer(server), draft.suffixServers(suffix));
  }
}

function tomlFields(bytes: Uint8Array): Fields {
  try {
    return parseToml(textOf(bytes));
  } catch {
    throw refused('its file pihole.toml is not valid TOML');
  }
}

function textOf(bytes: Uint8Array): string {
  if (bytes.length > LIMITS.importTextBytesMax) throw refused('a text in it is too long');
  return Buffer.from(bytes).toString('utf8');
}

/** Opens a copy, because a database that is in use may have its newest rows in another file. */
async function gravityTables(database: Uint8Array): Promise<PiHoleTables> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-import-'));
  try {
    const path = join(folder, 'gravity.db');
    await writeFile(path, database, { mode: 0o600 });
    const file = await open(path, 'r+');
    await file.write(JOURNAL_ROLLBACK, 0, 2, JOURNAL_AT);
    await file.close();
    return readTables(path);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function readTables(path: string): PiHoleTables {
  let database: Sqlite.Database | null = null;
  try {
    database = new Sqlite(path, { readonly: true, fileMustExist: true });
    // Views, which a database made to harm could have in place of tables, are not read.
    const kinds = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'");
    const names = new Set(kinds.pluck().all());
    if (!names.has('adlist') && !names.has('domainlist')) {
      throw refused('the database is not one of Pi-hole');
    }
    const rows = (name: string): Fields[] => {
      if (!names.has(name)) return [];
      const sql = `SELECT * FROM "${name}" LIMIT ${String(LIMITS.importRowsMax)}`;
      return (database as Sqlite.Database).prepare(sql).all() as Fields[];
    };
    return Object.fromEntries(
      PI_HOLE_TABLES.map((name) => [name, rows(name)]),
    ) as unknown as PiHoleTables;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw refused(`the database cannot be read: ${said}`);
  } finally {
    database?.close();
  }
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', why);
}
