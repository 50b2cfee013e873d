/**
 * Reads a file of another program, whichever it is: what is in it decides, its name helps where texts
 * look alike. Called in the process that reads imports (import-process.ts).
 */
import type { OnStage } from './draft/source.ts';
import { parse as parseYaml } from 'yaml';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { readServices } from '../policy/services.ts';
import { isAdGuardHome, readAdGuardHome } from './readers/adguard-home.ts';
import { isBlocky, readBlocky } from './readers/blocky.ts';
import { readDnscryptProxy } from './readers/dnscrypt-proxy.ts';
import { isDnsmasq, readDnsmasq } from './readers/dnsmasq.ts';
import { readDocument } from './draft/document.ts';
import { ImportDraft } from './draft/draft.ts';
import { takePlainList } from './readers/hosts.ts';
import {
  isPiHoleSettings,
  readGravity,
  readPiHoleText,
  readTeleporterTar,
  readTeleporterZip,
} from './readers/pi-hole.ts';
import { bytesSource, readAll, type ImportSource } from './draft/source.ts';
import { isUblock, readUblock } from './readers/ublock.ts';
import { isUnbound, readUnbound } from './readers/unbound.ts';
import type { Fields } from './draft/values.ts';

/** Enough to tell the kinds apart. */
const HEAD_BYTES = 65_536;

export interface ReadOptions {
  readonly onStage?: OnStage;
  /** False: lists that are files on this machine are not taken, because not everybody may read them. */
  readonly takesFiles?: boolean;
}

/** @throws AppError IMPORT_REFUSED */
export async function readImport(
  source: ImportSource,
  { onStage = () => undefined, takesFiles = true }: ReadOptions = {},
): Promise<ImportDraft> {
  readServices(parseYaml);
  const draft = await readAny(source, onStage);
  onStage('working out who gets what');
  if (!takesFiles) draft.leaveOutFiles();
  draft.settle();
  return draft;
}

/** As `readImport`. */
export function readImportBytes(bytes: Uint8Array, name = ''): Promise<ImportDraft> {
  return readImport(bytesSource(bytes, name));
}

async function readAny(source: ImportSource, onStage: OnStage): Promise<ImportDraft> {
  const head = source.read(0, 16);
  if (head.toString('latin1').startsWith('SQLite format 3\0')) {
    return readGravity(source, onStage);
  }
  if (head[0] === 0x1f && head[1] === 0x8b) {
    onStage('unpacking the archive');
    return readTeleporterTar(readAll(source, LIMITS.importArchiveBytesMax));
  }
  if (head.toString('latin1', 0, 4) === 'PK\u0003\u0004') {
    onStage('unpacking the archive');
    return readTeleporterZip(readAll(source, LIMITS.importArchiveBytesMax), onStage);
  }
  return readText(source, onStage);
}

function readText(source: ImportSource, onStage: OnStage): ImportDraft {
  const content = readAll(source, LIMITS.importTextBytesMax)
    .toString('utf8')
    .replace(/^\ufeff/, '');
  if (content.includes('\0')) throw refused('the file is of no known kind');
  onStage('reading the text');
  return readSettings(content) ?? readNames(content, source.name);
}

/** By what only the settings of one program have; null for anything else. */
function readSettings(content: string): ImportDraft | null {
  const head = content.slice(0, HEAD_BYTES);
  if (isPiHoleSettings(head)) return readPiHoleText(content);
  const root = readDocument(content);
  const known = root === null ? undefined : DOCUMENTS.find(([is]) => is(root));
  if (root !== null && known) return known[1](root);
  if (isUnbound(head)) return readUnbound(content);
  return isDnsmasq(head) ? readDnsmasq(content) : null;
}

const DOCUMENTS: readonly [(root: Fields) => boolean, (root: Fields) => ImportDraft][] = [
  [isUblock, readUblock],
  [isAdGuardHome, readAdGuardHome],
  [isBlocky, readBlocky],
];

/** Lists of names, which look alike. */
function readNames(content: string, name: string): ImportDraft {
  const draft = readDnscryptProxy(content, name) ?? plainList(content);
  if (draft.everybody.rules.size + draft.records.length + suffixCount(draft) > 0) return draft;
  const [lost] = draft.notes.all;
  const example = lost?.examples[0] ?? '';
  const why = lost ? `, e.g. ${example === '' ? '' : `"${example}": `}${lost.why}` : '';
  throw refused(`the file is of no known kind: it has no settings, names or rules${why}`);
}

function suffixCount({ suffixes }: ImportDraft): number {
  return Object.keys(suffixes).length;
}

function plainList(content: string): ImportDraft {
  const draft = new ImportDraft('list of names');
  takePlainList(content, draft);
  return draft;
}

function refused(why: string): AppError {
  return new AppError('IMPORT_REFUSED', why);
}
