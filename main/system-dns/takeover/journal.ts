/**
 * The journal of a takeover: what the resolver owner kept before us, exactly. It is on disk before
 * anything is changed, and goes when everything is given back.
 *
 *     takeover.journal   "sluice-journal 1 <CRC-32 of the body> <its length>\n" + body (JSON)
 *     takeover.copy      the same once more: one unreadable sector must not cost a laptop its DNS
 *
 * The journal is also the lock: it is made with link(2), which fails when there is one. Each file
 * is written under a temporary name, synced and renamed, so a reader finds it whole or not at all;
 * the checksum is for disks that lie. Not node:crypto: loading it costs the guardian 2 MiB.
 */
import * as fs from 'node:fs';
import { join } from 'node:path';
import { crc32 } from '../../system/crc32.ts';
import { replaceDurably, syncFolder, writeDurably } from '../../system/durable-file.ts';
import { OWNER_NAMES, type DnsServer, type OwnerItem, type OwnerName } from '../owners/owner.ts';
import type { ProcessMark } from '../../system/process-mark.ts';

const FORMAT = 'sluice-journal 1';
/** A machine with a thousand links stays below; anything larger is not ours. */
const BYTES_MAX = 4 * 1024 * 1024;
const PRIVATE_MODE = 0o600;

export interface Journal {
  /** New for each takeover. */
  readonly id: string;
  readonly writtenAtMs: number;
  readonly owner: OwnerName;
  /** Where the machine was led to. */
  readonly servers: readonly DnsServer[];
  /** As they were before us. Links that appear later are added. */
  readonly items: readonly OwnerItem[];
  /** The app that took over. */
  readonly holder: ProcessMark;
}

export type JournalRead =
  | { readonly kind: 'none' }
  | { readonly kind: 'whole'; readonly journal: Journal }
  /** There was a takeover, but neither file can be trusted. */
  | { readonly kind: 'damaged'; readonly reason: string };

export class JournalFile {
  readonly #main: string;
  readonly #copy: string;

  /** @param directory  made when missing, for this user only */
  constructor(directory: string) {
    this.#main = join(directory, 'takeover.journal');
    this.#copy = join(directory, 'takeover.copy');
  }

  read(): JournalRead {
    const found = [this.#main, this.#copy].map(readFile);
    const whole = found.find((one) => one.kind === 'whole');
    return whole ?? found.find((one) => one.kind === 'damaged') ?? { kind: 'none' };
  }

  /**
   * Begins a takeover: on disk when it returns.
   *
   * @returns false when there is a journal already: somebody holds the resolver or died holding it
   * @throws  the system's error when it cannot be written; no journal is left then
   */
  begin(content: Omit<Journal, 'id' | 'writtenAtMs'>): Journal | false {
    const journal = { ...content, id: crypto.randomUUID(), writtenAtMs: Date.now() };
    fs.mkdirSync(join(this.#main, '..'), { recursive: true, mode: 0o700 });
    const temporary = `${this.#main}.${String(process.pid)}.new`;
    try {
      writeDurably(temporary, encode(journal), PRIVATE_MODE);
      fs.linkSync(temporary, this.#main);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
      throw error;
    } finally {
      fs.rmSync(temporary, { force: true });
    }
    try {
      this.#replace(this.#copy, journal);
    } catch (error) {
      fs.rmSync(this.#main, { force: true });
      throw error;
    }
    return journal;
  }

  /** Writes a journal with more items. @throws the system's error; the old one then stands */
  update(journal: Journal): void {
    this.#replace(this.#main, journal);
    this.#replace(this.#copy, journal);
  }

  /** Ends the takeover with this id; without an id any. @throws the system's error */
  remove(id?: string): void {
    const found = this.read();
    if (found.kind === 'none') return;
    if (id !== undefined && found.kind === 'whole' && found.journal.id !== id) return;
    // The copy first: a cut in between leaves the main file, and the restore runs once more.
    fs.rmSync(this.#copy, { force: true });
    fs.rmSync(this.#main, { force: true });
    syncFolder(this.#main);
  }

  #replace(path: string, journal: Journal): void {
    const temporary = `${path}.${String(process.pid)}.new`;
    replaceDurably(path, encode(journal), PRIVATE_MODE, temporary);
  }
}

/** The bytes of a journal file. Exported for tests that halve them. */
export function encode(journal: Journal): Buffer {
  const body = Buffer.from(JSON.stringify(journal));
  return Buffer.concat([Buffer.from(`${FORMAT} ${digest(body)} ${String(body.length)}\n`), body]);
}

/** The inverse; anything that is not exactly what was written is damaged. */
export function decode(bytes: Buffer): JournalRead {
  const end = bytes.indexOf('\n');
  const [, sum, length] =
    /^sluice-journal 1 ([0-9a-f]{8}) (\d+)$/.exec(bytes.toString('latin1', 0, Math.max(0, end))) ??
    [];
  if (sum === undefined) return { kind: 'damaged', reason: 'its first line is not a journal’s' };
  const body = bytes.subarray(end + 1);
  if (body.length !== Number(length)) return { kind: 'damaged', reason: 'it was written by half' };
  if (digest(body) !== sum) return { kind: 'damaged', reason: 'its checksum does not match' };
  const journal = JSON.parse(body.toString('utf8')) as Journal;
  if (!OWNER_NAMES.includes(journal.owner)) {
    return { kind: 'damaged', reason: `it names an owner that is not known: ${journal.owner}` };
  }
  return { kind: 'whole', journal };
}

function readFile(path: string): JournalRead {
  try {
    if (fs.statSync(path).size > BYTES_MAX) return { kind: 'damaged', reason: 'it is too large' };
    return decode(fs.readFileSync(path));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { kind: 'none' };
    return { kind: 'damaged', reason: `it cannot be read (${code ?? String(error)})` };
  }
}

function digest(body: Uint8Array): string {
  return crc32(body).toString(16).padStart(8, '0');
}
