/**
 * The file of the compiled table: the table, and behind it the program, if there is one. Read by the
 * main thread when the program starts, and by the compile thread, which has written it.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { LIMITS } from '../../contract/limits.ts';
import { TABLE_HEADER_BYTES, tableBytesOf } from '../../engine/filter/domain-table.ts';
import type { RuleBuffers } from '../../engine/filter/rule-set.ts';

/**
 * Reads the file into shared memory.
 *
 * @throws Error  when there is none, or not of a size that one has; checksums are not looked at here
 */
export function readSnapshot(path: string): RuleBuffers {
  const file = openSync(path, 'r');
  try {
    const { size } = fstatSync(file);
    const header = new Uint8Array(TABLE_HEADER_BYTES);
    readFully(file, header, 0);
    const tableBytes = tableBytesOf(header);
    const programBytes = size - tableBytes;
    // Slots, entries and names at their bounds; a larger file is none of ours.
    const tableBytesMax = LIMITS.tableNameBytesMax + LIMITS.tableEntriesMax * 24;
    const isSane = tableBytes >= TABLE_HEADER_BYTES && tableBytes <= tableBytesMax;
    if (!isSane || programBytes < 0 || programBytes > LIMITS.programBytesMax) {
      throw new Error('not of a size that a snapshot has');
    }
    const table = new SharedArrayBuffer(tableBytes);
    readFully(file, new Uint8Array(table), 0);
    if (programBytes === 0) return { table, program: null };
    const program = new SharedArrayBuffer(programBytes);
    readFully(file, new Uint8Array(program), tableBytes);
    return { table, program };
  } finally {
    closeSync(file);
  }
}

/** Fills `bytes` from a position of the file on. */
function readFully(file: number, bytes: Uint8Array, position: number): void {
  for (let at = 0; at < bytes.length;) {
    const count = readSync(file, bytes, at, bytes.length - at, position + at);
    if (count === 0) throw new Error('the file became shorter while it was read');
    at += count;
  }
}
