/** How much memory the process has. Main thread. */

let lastBytes = 0;

/** Resident bytes; those of the last reading while there is no handle left to read it with. */
export function residentBytes(): number {
  try {
    lastBytes = process.memoryUsage.rss();
  } catch {
    // EMFILE: it is read from a file, and figures are not worth a fault.
  }
  return lastBytes;
}
