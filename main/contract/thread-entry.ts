/**
 * Finds the file of a thread entry, from source as well as from a build.
 *
 * Sources run as main/…/x-thread.ts (Node strips the types), a build as dist/main/…/x-thread.js.
 * Whether code runs from source shows in the extension of this very file.
 */

/**
 * @param path  below main/, without extension, e.g. 'log/writer-thread'
 * @returns     the URL to hand to `new Worker`
 */
export function threadEntry(path: string): URL {
  const here = import.meta.url;
  const root = here.slice(0, here.lastIndexOf('/main/') + '/main/'.length);
  return new URL(`${path}${here.endsWith('.ts') ? '.ts' : '.js'}`, root);
}
