/**
 * How large SQLite's write-ahead log may get, derived from the log's byte bound.
 *
 * Used by the writer (store.ts, retention.ts) and by the main thread (query-log.ts), which must not
 * load SQLite for it.
 */

/** SQLite's default page, which new files get. */
const PAGE_BYTES = 4_096;

/** Sizes derived from the log's byte bound. */
export interface WalBounds {
  /** Pages in the write-ahead log at which SQLite copies them into the database. */
  readonly checkpointPages: number;
  /** The same in bytes: what the log may take in ordinary times. */
  readonly checkpointBytes: number;
  /** Above this no more is written until a reader lets go. */
  readonly bytesMax: number;
}

/**
 * Bounds of the write-ahead log for a log of `sizeMaxBytes`: 1/32 of it between 512 KiB and 4 MiB
 * in ordinary times; when a long reader keeps it from starting over, half of it between 16 MiB and
 * 256 MiB.
 */
export function walBounds(sizeMaxBytes: number): WalBounds {
  const pages = Math.floor(sizeMaxBytes / 32 / PAGE_BYTES);
  const checkpointPages = Math.min(Math.max(pages, 128), 1_024);
  const mebibyte = 1024 * 1024;
  return {
    checkpointPages,
    checkpointBytes: checkpointPages * PAGE_BYTES,
    bytesMax: Math.min(Math.max(sizeMaxBytes / 2, 16 * mebibyte), 256 * mebibyte),
  };
}
