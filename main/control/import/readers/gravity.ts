/**
 * Reads the small tables of Pi-hole's gravity.db: lists, domains, groups, clients and how they belong
 * together. The large one, with the names that its lists have brought, is never looked at; SQLite
 * reads the pages it needs, so the size of the file costs next to nothing.
 *
 * The database is somebody else's: memory is bounded, schemas are not trusted, and only plain tables
 * and plain columns are read, each by its name and no further than LIMITS.importValueBytesMax.
 */
import Sqlite from 'better-sqlite3';
import { AppError } from '../../../contract/errors.ts';
import { LIMITS } from '../../../contract/limits.ts';
import type { OnStage } from '../draft/source.ts';
import { COLUMNS, PI_HOLE_TABLES, type PiHoleTables, type TableName } from './pi-hole-tables.ts';
import { withCopy, type ImportSource } from '../draft/source.ts';
import type { Fields } from '../draft/values.ts';

/** Bytes 18 and 19 of a database file: 2 means write-ahead log, which a copy does not have. */
const JOURNAL_AT = 18;
const JOURNAL_ROLLBACK = Uint8Array.of(1, 1);
const DATABASE_BYTES = LIMITS.importDatabaseMiB * 1024 * 1024;
/** Hidden columns of PRAGMA table_xinfo: 0 is a plain one, 2 and 3 are computed. */
const PLAIN_COLUMN = 0;
const COLUMNS_MAX = 64;

/** @throws AppError IMPORT_REFUSED */
export function readGravityTables(source: ImportSource, onStage: OnStage): PiHoleTables {
  onStage('copying the database');
  return withCopy(
    source,
    (head) => head.set(JOURNAL_ROLLBACK, JOURNAL_AT),
    (path) => readTables(path, onStage),
  );
}

function readTables(path: string, onStage: OnStage): PiHoleTables {
  let database: Sqlite.Database | null = null;
  try {
    database = connect(path);
    const plain = plainTables(database);
    if (!plain.has('adlist') && !plain.has('domainlist')) {
      throw refused(
        'the database is not one of Pi-hole: it has neither a table adlist nor domainlist',
      );
    }
    const found: Partial<Record<TableName, Fields[]>> = {};
    for (const name of PI_HOLE_TABLES) {
      onStage(`reading the table ${name}`);
      found[name] = plain.has(name) ? rowsOf(database, name) : [];
    }
    return found as PiHoleTables;
  } catch (error) {
    if (error instanceof AppError) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw refused(`the database cannot be read: ${said}`);
  } finally {
    database?.close();
  }
}

function connect(path: string): Sqlite.Database {
  // A runtime that the packaged binding does not fit brings its own (Electron in tests).
  const nativeBinding = process.env['SLUICE_SQLITE_BINDING'] ?? '';
  const database = new Sqlite(path, {
    readonly: true,
    fileMustExist: true,
    ...(nativeBinding !== '' && { nativeBinding }),
  });
  database.pragma(`hard_heap_limit = ${String(DATABASE_BYTES)}`);
  database.pragma('trusted_schema = OFF');
  database.pragma('cell_size_check = ON');
  database.pragma('query_only = ON');
  database.pragma('mmap_size = 0');
  return database;
}

/** Views and virtual tables, which a database made to harm could have instead, have no root page. */
function plainTables(database: Sqlite.Database): ReadonlySet<string> {
  const names = PI_HOLE_TABLES.map((name) => `'${name}'`).join(',');
  const sql = `SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name IN (${names})`;
  return new Set(database.prepare<[], string>(sql).pluck().all());
}

function rowsOf(database: Sqlite.Database, name: TableName): Fields[] {
  const there = new Set(plainColumns(database, name));
  const columns = COLUMNS[name].filter((column) => there.has(column));
  if (columns.length === 0) return [];
  const values = columns.map(valueOf).join(', ');
  const sql = `SELECT ${values} FROM "${name}" LIMIT ${String(LIMITS.importRowsMax + 1)}`;
  return database.prepare<[], Fields>(sql).all();
}

/** Numbers as they are; texts cut; blobs and what is too long for a text not at all. */
function valueOf(column: string): string {
  const most = String(LIMITS.importValueBytesMax);
  return `CASE typeof("${column}") WHEN 'text' THEN substr("${column}", 1, ${most})
    WHEN 'blob' THEN NULL ELSE "${column}" END AS "${column}"`;
}

function plainColumns(database: Sqlite.Database, name: TableName): string[] {
  interface Column {
    readonly name: string;
    readonly hidden: number;
  }
  const rows = database.prepare<[], Column>(`PRAGMA table_xinfo("${name}")`).iterate();
  const plain: string[] = [];
  let count = 0;
  for (const { name: column, hidden } of rows) {
    if (hidden === PLAIN_COLUMN) plain.push(column);
    if (++count >= COLUMNS_MAX) break;
  }
  return plain;
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', why);
}
