/**
 * Reads a file of another program, whichever it is, within bounds. Called by import-methods.ts.
 */
import { open } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { parse as parseYaml } from 'yaml';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { readServices } from '../services.ts';
import { isAdGuardHome, readAdGuardHome } from './adguard-home.ts';
import { isBlocky, readBlocky } from './blocky.ts';
import { ImportDraft } from './draft.ts';
import { takePlainList } from './hosts.ts';
import { isUblock, readUblock } from './ublock.ts';
import { fields, type Fields } from './values.ts';

const ALIASES_MAX = 100;
/** Where section [dns] of pihole.toml begins, behind a few lines of comments. */
const TOML_HEAD_BYTES = 4_096;

/**
 * @param path  absolute; a regular file
 * @throws AppError IMPORT_REFUSED
 */
export async function readImport(path: string): Promise<ImportDraft> {
  if (!isAbsolute(path)) throw refused(`write the whole path of the file, not "${path}"`);
  return readImportBytes(await readBounded(path));
}

/** As `readImport`, by what is in the file. */
export async function readImportBytes(bytes: Uint8Array): Promise<ImportDraft> {
  readServices(parseYaml);
  const head = Buffer.from(bytes.subarray(0, 16));
  if (head.toString('latin1').startsWith('SQLite format 3\0')) {
    const { readGravity } = await import('./pi-hole.ts');
    return readGravity(bytes);
  }
  if (head[0] === 0x1f && head[1] === 0x8b) {
    const { readTeleporterTar } = await import('./pi-hole.ts');
    return readTeleporterTar(bytes);
  }
  if (head.toString('latin1', 0, 4) === 'PK\u0003\u0004') {
    const { readTeleporterZip } = await import('./pi-hole.ts');
    return readTeleporterZip(bytes);
  }
  if (/^\[dns\]\s*$/m.test(Buffer.from(bytes.subarray(0, TOML_HEAD_BYTES)).toString('latin1'))) {
    const { readPiHoleToml } = await import('./pi-hole.ts');
    return readPiHoleToml(bytes);
  }
  return readText(bytes);
}

function readText(bytes: Uint8Array): ImportDraft {
  if (bytes.length > LIMITS.importTextBytesMax) throw refused('the file is too long for a text');
  const content = Buffer.from(bytes)
    .toString('utf8')
    .replace(/^\ufeff/, '');
  if (content.includes('\0')) throw refused('the file is of no known kind');
  const root = mapping(content);
  if (root && isUblock(root)) return readUblock(root);
  if (root && isAdGuardHome(root)) return readAdGuardHome(root);
  if (root && isBlocky(root)) return readBlocky(root);
  const draft = new ImportDraft('list of names');
  takePlainList(content, draft);
  if (draft.rules.length + draft.records.length === 0) {
    throw refused('the file is of no known kind: it has no settings, names or rules');
  }
  return draft;
}

/** The document as a mapping, when it is YAML or JSON with one at its root. */
function mapping(content: string): Fields | null {
  if (!/^\s*(\{|[\w-]+\s*:|---|#|%)/.test(content)) return null;
  try {
    const value: unknown = content.trimStart().startsWith('{')
      ? JSON.parse(content)
      : parseYaml(content, { maxAliasCount: ALIASES_MAX, logLevel: 'error' });
    const root = fields(value);
    return Object.keys(root).length > 0 ? root : null;
  } catch {
    return null; // A list of names is no YAML; what is neither is refused by the caller.
  }
}

async function readBounded(path: string): Promise<Uint8Array> {
  try {
    const file = await open(path, 'r');
    try {
      const info = await file.stat();
      if (!info.isFile()) throw refused(`${path} is no file`);
      if (info.size > LIMITS.importBytesMax) throw refused(`${path} is too large`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    const said = error instanceof Error ? error.message : String(error);
    throw refused(`${path} cannot be read: ${said}`);
  }
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', why);
}
