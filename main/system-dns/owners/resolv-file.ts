/**
 * A plain /etc/resolv.conf that no program owns: an ordinary file, a symbolic link, an immutable
 * file, or one mounted over the path, as in containers.
 *
 * The file from before stays beside it under a second name (a hard link, so owner, mode, times and
 * attributes stay exact), and ours is renamed over the path. Giving back is one rename, which needs
 * no free space. A mounted file cannot be renamed over and is written in place.
 */
import * as fs from 'node:fs';
import type { RunCommand } from '../../system/command.ts';
import { syncFolder, writeDurably } from '../../system/durable-file.ts';
import type { Detection, DnsServer, OwnerItem, Properties, ResolverOwner } from './owner.ts';
import { HEADER, nameservers, ourText, withServersBack } from './resolv-conf.ts';

const KEEP_SUFFIX = '.sluice-before';
const NEW_SUFFIX = '.sluice-new';
const ORDINARY_MODE = 0o644;

/** What stands at the path. In the journal as JSON text, so that it is compared as a whole. */
interface Entry {
  readonly kind: 'file' | 'link' | 'mount' | 'none';
  /** Base64: the bytes of the file, or of what the link leads to. */
  readonly content: string;
  readonly linkTarget: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

export interface ResolvFileOptions {
  readonly run: RunCommand;
  /** Default: /etc/resolv.conf. */
  readonly path?: string;
  readonly mountinfo?: string;
  /** For the one case where the disk cannot be written any more. */
  readonly scratch?: string;
}

export class ResolvFileOwner implements ResolverOwner {
  readonly name = 'resolv.conf';
  readonly #run: RunCommand;
  readonly #path: string;
  readonly #mountinfo: string;
  readonly #scratch: string;

  constructor(options: ResolvFileOptions) {
    this.#run = options.run;
    this.#path = options.path ?? '/etc/resolv.conf';
    this.#mountinfo = options.mountinfo ?? '/proc/self/mountinfo';
    this.#scratch = options.scratch ?? '/run';
  }

  detect(): Promise<Detection> {
    const isPresent = process.platform !== 'win32';
    const { kind } = this.#read();
    const detail = {
      file: 'an ordinary file',
      link: 'a symbolic link',
      mount: 'a file mounted over the path',
      none: 'missing',
    }[kind];
    return Promise.resolve({
      isPresent,
      isInCharge: isPresent,
      takesPort: false,
      detail: `no program owns ${this.#path}, which is ${detail}`,
    });
  }

  async capture(): Promise<OwnerItem[]> {
    const entry = this.#read();
    const item: OwnerItem = {
      key: this.#path,
      label: this.#path,
      skip: '',
      properties: { entry: JSON.stringify(entry), immutable: await this.#isImmutable(entry) },
      servers: nameservers(textOf(entry)),
      routingDomains: [],
    };
    return [item];
  }

  target(before: OwnerItem, servers: readonly DnsServer[]): Properties | null {
    const was = entryOf(before);
    const text = ourText(textOf(was), servers);
    if (text === null) return null;
    const inPlace = was.kind === 'mount';
    const ours: Entry = {
      kind: inPlace ? 'mount' : 'file',
      content: Buffer.from(text).toString('base64'),
      linkTarget: '',
      mode: inPlace ? was.mode : ORDINARY_MODE,
      uid: inPlace ? was.uid : (process.getuid?.() ?? 0),
      gid: inPlace ? was.gid : (process.getgid?.() ?? 0),
    };
    return { entry: JSON.stringify(ours), immutable: false };
  }

  async write(_before: OwnerItem, properties: Properties): Promise<void> {
    const { entry, immutable } = properties;
    if (immutable === false) await this.#setImmutable(false);
    if (typeof entry === 'string') await this.#writeEntry(entry);
    if (immutable === true) await this.#setImmutable(true);
  }

  mend(before: OwnerItem, now: OwnerItem, servers: readonly DnsServer[]): Properties {
    const entry = entryOf(now);
    const ours = servers.map(({ address }) => address);
    const text = withServersBack(textOf(entry), textOf(entryOf(before)), ours);
    return { entry: JSON.stringify({ ...entry, content: Buffer.from(text).toString('base64') }) };
  }

  async release(): Promise<void> {
    const kept = this.#path + KEEP_SUFFIX;
    if (!exists(kept)) throw new Error(`what was in ${this.#path} before is not known any more`);
    await this.#setImmutable(false).catch(() => undefined); // not set, or no such attribute here
    fs.renameSync(kept, this.#path);
    syncFolder(this.#path);
  }

  settle(): Promise<void> {
    for (const suffix of [KEEP_SUFFIX, NEW_SUFFIX]) fs.rmSync(this.#path + suffix, { force: true });
    return Promise.resolve();
  }

  async #writeEntry(wanted: string): Promise<void> {
    const entry = JSON.parse(wanted) as Entry;
    const isOurs = textOf(entry).startsWith(HEADER);
    try {
      if (entry.kind === 'mount') this.#writeInPlace(entry);
      else if (isOurs) this.#putOurs(entry);
      else this.#putBack(entry);
      syncFolder(this.#path);
    } catch (error) {
      if (isOurs || (error as NodeJS.ErrnoException).code !== 'EROFS') throw error;
      await this.#mountOver(entry);
    }
  }

  #putOurs(entry: Entry): void {
    writeDurably(this.#path + NEW_SUFFIX, bytesOf(entry), entry.mode);
    const kept = this.#path + KEEP_SUFFIX;
    const ours = this.#read();
    if (ours.content !== entry.content && ours.kind !== 'none') {
      fs.rmSync(kept, { force: true });
      fs.linkSync(this.#path, kept);
    }
    fs.renameSync(this.#path + NEW_SUFFIX, this.#path);
  }

  /** By renaming what was kept, when that is still what the journal says; else from the journal. */
  #putBack(entry: Entry): void {
    if (sameEntry(this.#read(), entry)) return; // somebody was faster: the very file is back
    const kept = this.#path + KEEP_SUFFIX;
    if (entry.kind === 'none') fs.rmSync(this.#path, { force: true });
    else if (sameEntry(this.#read(kept), entry)) fs.renameSync(kept, this.#path);
    else this.#make(entry);
  }

  #make(entry: Entry): void {
    const temporary = this.#path + NEW_SUFFIX;
    if (entry.kind === 'link') {
      fs.rmSync(temporary, { force: true });
      fs.symlinkSync(entry.linkTarget, temporary);
    } else {
      writeDurably(temporary, bytesOf(entry), entry.mode);
      fs.chownSync(temporary, entry.uid, entry.gid);
    }
    fs.renameSync(temporary, this.#path);
  }

  #writeInPlace(entry: Entry): void {
    const file = fs.openSync(this.#path, 'r+');
    try {
      const bytes = bytesOf(entry);
      fs.writeSync(file, bytes, 0, bytes.length, 0);
      fs.ftruncateSync(file, bytes.length);
      fs.fsyncSync(file);
    } finally {
      fs.closeSync(file);
    }
  }

  /** The disk became read-only while we were on: the old text is mounted over ours, from memory. */
  async #mountOver(entry: Entry): Promise<void> {
    const copy = `${this.#scratch}/sluice-resolv.conf`;
    fs.writeFileSync(copy, bytesOf(entry), { mode: ORDINARY_MODE });
    await this.#run('mount', ['--bind', copy, this.#path]);
  }

  /** @param path  default: the file itself */
  #read(path = this.#path): Entry {
    const info = attempt(() => fs.lstatSync(path));
    const none: Entry = { kind: 'none', content: '', linkTarget: '', mode: 0, uid: 0, gid: 0 };
    if (info === null) return none;
    const content = attempt(() => fs.readFileSync(path).toString('base64')) ?? '';
    if (info.isSymbolicLink()) {
      return { ...none, kind: 'link', content, linkTarget: fs.readlinkSync(path) };
    }
    const kind = path === this.#path && this.#isMounted() ? 'mount' : 'file';
    const { mode, uid, gid } = info;
    return { kind, content, linkTarget: '', mode: mode & 0o7777, uid, gid };
  }

  #isMounted(): boolean {
    const text = attempt(() => fs.readFileSync(this.#mountinfo, 'utf8')) ?? '';
    return text.split('\n').some((line) => line.split(' ')[4] === this.#path);
  }

  async #isImmutable(entry: Entry): Promise<boolean> {
    if (process.platform !== 'linux' || entry.kind === 'none' || entry.kind === 'link')
      return false;
    try {
      const listed = await this.#run('lsattr', ['-d', this.#path]);
      return (listed.split(' ', 1)[0] ?? '').includes('i');
    } catch {
      // A file system without attributes, or no lsattr: nothing can be immutable that way.
      return false;
    }
  }

  async #setImmutable(on: boolean): Promise<void> {
    const entry = this.#read();
    if ((await this.#isImmutable(entry)) === on) return;
    await this.#run('chattr', [on ? '+i' : '-i', this.#path]);
  }
}

function entryOf(item: OwnerItem): Entry {
  return JSON.parse(String(item.properties['entry'])) as Entry;
}

function bytesOf(entry: Entry): Buffer {
  return Buffer.from(entry.content, 'base64');
}

function textOf(entry: Entry): string {
  return bytesOf(entry).toString('utf8');
}

function sameEntry(one: Entry, other: Entry): boolean {
  // What a link leads to changes without us; the link itself is what counts.
  if (one.kind === 'link' && other.kind === 'link') return one.linkTarget === other.linkTarget;
  return JSON.stringify(one) === JSON.stringify(other);
}

function exists(path: string): boolean {
  return attempt(() => fs.lstatSync(path)) !== null;
}

/** A file that is not there, or goes away while it is looked at, reads as null. */
function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}
