/**
 * Files that doors were sent, until a method uses them: private temporary files in `uploads` of the
 * data folder, bounded in number, bytes and age. Main thread; owned by the service.
 *
 * A method names an upload by its id and so never gets a path from a door. No handle stays open
 * between two pieces.
 */
import { randomBytes } from 'node:crypto';
import { appendFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { AppError } from '../../contract/errors.ts';
import type { UploadReceipt } from '../../contract/methods/import.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { ServiceClock } from '../../system/clock.ts';
import { isDiskTrouble, makeFolder, writeTrouble } from '../process/data-folder.ts';

interface Upload {
  bytes: number;
  /** Of the pieces, one after another. */
  tail: Promise<unknown>;
  cancelEnd: () => void;
}

export class Uploads {
  readonly #folder: string;
  readonly #clock: ServiceClock;
  readonly #uploads = new Map<string, Upload>();
  /** What cannot be deleted is in nobody's way: ids are new each time. */
  readonly #cleared: Promise<void>;

  /** What another run left in the folder is deleted. */
  constructor(dataDirectory: string, clock: ServiceClock) {
    this.#folder = join(dataDirectory, 'uploads');
    this.#clock = clock;
    this.#cleared = rm(this.#folder, { recursive: true, force: true }).catch(() => undefined);
  }

  /**
   * Adds a piece to a file, which begins with its first one.
   *
   * @param id  null for a new file
   * @throws    AppError TOO_MANY beyond LIMITS.uploadsMax or uploadBytesMax, over all uploads;
   *            UPLOAD_UNKNOWN; DISK_FULL. The upload is deleted then.
   */
  async append(id: string | null, piece: Uint8Array): Promise<UploadReceipt> {
    const known = id ?? this.#begin();
    const upload = this.#find(known);
    upload.bytes += piece.length;
    try {
      if (this.bytes > LIMITS.uploadBytesMax) {
        const mib = String(LIMITS.uploadBytesMax / 1024 / 1024);
        throw new AppError('TOO_MANY', `the file is too large: ${mib} MiB may wait at a time`);
      }
      upload.tail = upload.tail.then(() => this.#write(known, piece));
      await upload.tail;
    } catch (error) {
      await this.drop(known);
      throw error;
    }
    this.#endLater(known, upload);
    return { id: known, bytes: upload.bytes };
  }

  /** The file of an upload, absolute. @throws AppError UPLOAD_UNKNOWN */
  fileOf(id: string): string {
    this.#endLater(id, this.#find(id));
    return this.#path(id);
  }

  /** Deletes an upload. Idempotent. */
  async drop(id: string): Promise<void> {
    const upload = this.#uploads.get(id);
    if (!upload) return;
    this.#uploads.delete(id);
    upload.cancelEnd();
    await upload.tail.catch(() => undefined); // whoever sent it was told
    await rm(this.#path(id), { force: true }).catch(() => undefined); // the next start does it
  }

  /** Bytes of all uploads. */
  get bytes(): number {
    let sum = 0;
    for (const { bytes } of this.#uploads.values()) sum += bytes;
    return sum;
  }

  /** Deletes all. */
  async close(): Promise<void> {
    await Promise.all([...this.#uploads.keys()].map((id) => this.drop(id)));
  }

  #begin(): string {
    if (this.#uploads.size >= LIMITS.uploadsMax) {
      throw new AppError('TOO_MANY', `${String(LIMITS.uploadsMax)} files wait to be used already`);
    }
    const id = randomBytes(16).toString('base64url');
    const upload = { bytes: 0, tail: this.#cleared, cancelEnd: () => undefined };
    this.#uploads.set(id, upload);
    this.#endLater(id, upload);
    return id;
  }

  #find(id: string): Upload {
    const upload = this.#uploads.get(id);
    if (upload) return upload;
    throw new AppError('UPLOAD_UNKNOWN', 'the file that was sent is not here any more');
  }

  async #write(id: string, piece: Uint8Array): Promise<void> {
    try {
      makeFolder(this.#folder);
      await appendFile(this.#path(id), piece, { mode: 0o600 });
    } catch (error) {
      if (!isDiskTrouble(error)) throw error;
      throw new AppError('DISK_FULL', writeTrouble(error, this.#folder), error);
    }
  }

  #endLater(id: string, upload: Upload): void {
    upload.cancelEnd();
    upload.cancelEnd = this.#clock.after(LIMITS.uploadMs, () => void this.drop(id));
  }

  #path(id: string): string {
    return join(this.#folder, id);
  }
}
