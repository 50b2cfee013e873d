/**
 * CRC-32 as in zip and Ethernet (reflected, polynomial 0xEDB88320), for the journal. Written out,
 * because node:zlib and node:crypto take memory that the guardian should not.
 */

const POLYNOMIAL = 0xedb88320;

/** Bit by bit, without a table: a journal has a few kilobytes. @returns 32 bits, unsigned */
export function crc32(bytes: Uint8Array): number {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = sum & 1 ? POLYNOMIAL ^ (sum >>> 1) : sum >>> 1;
  }
  return ~sum >>> 0;
}
