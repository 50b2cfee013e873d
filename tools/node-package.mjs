/**
 * Where the locked package with Node 24 for a platform lies, and whether Node of some version will
 * do. Plain JavaScript: node.mjs loads it in a Node that may be too old for TypeScript.
 */
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const MAJOR_MIN = 24;
const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Folder of the package, whether it is installed or not; it holds the headers as well. */
export function nodePackage(platform = process.platform, arch = process.arch) {
  return resolve(ROOT, 'node_modules', `node-${platform === 'win32' ? 'win' : platform}-${arch}`);
}

/**
 * The Node to run Sluice's scripts with.
 *
 * @param version     of the Node that runs now; it is the choice where no package is installed
 * @param executable  of that Node
 * @returns           an absolute path, or why there is none and what to do
 */
export function chooseNode(
  version = process.versions.node,
  executable = process.execPath,
  folder = nodePackage(),
) {
  const packaged = ['node', 'node.exe'].map((name) => join(folder, 'bin', name)).find(existsSync);
  if (packaged !== undefined) return { executable: packaged };
  if (Number.parseInt(version, 10) >= MAJOR_MIN) return { executable };
  return {
    problem:
      `Sluice needs Node ${String(MAJOR_MIN)}, this is ${version}: run "npm ci"; ` +
      `where that brings none for this system, install Node ${String(MAJOR_MIN)} or newer`,
  };
}
