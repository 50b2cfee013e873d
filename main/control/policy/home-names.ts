/**
 * Names of a home or company network, whose answers may have private addresses: those below no
 * top-level domain of the public root (nas, printer.lan, speedport.ip), which nobody outside can
 * have, and those of routers' own set-up pages. Read once, from resources/names/.
 */
import { readFileSync } from 'node:fs';
import { resourcePath } from '../process/resources.ts';

export interface HomeNames {
  /** For Policy.rebinding.publicTlds. */
  readonly publicTlds: string;
  /** Public names, each with what is below it. */
  readonly devices: readonly string[];
}

let read: HomeNames | undefined;

/** The names that ship with the program; none, which guards every name, when it was installed badly. */
export function homeNames(): HomeNames {
  read ??= {
    publicTlds: spaced(wordsOf('top-level-domains.txt')),
    devices: wordsOf('home-devices.txt'),
  };
  return read;
}

function spaced(words: readonly string[]): string {
  return words.length === 0 ? '' : ` ${words.join(' ')} `;
}

/** The words of a file of names; "#" begins a comment. */
function wordsOf(name: string): string[] {
  try {
    const text = readFileSync(resourcePath(`names/${name}`), 'utf8').replace(/#.*$/gm, '');
    return text.split(/\s+/).filter((word) => word !== '');
  } catch {
    return [];
  }
}
