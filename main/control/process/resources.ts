/**
 * Finds files that ship with the program, from source as well as from a build.
 *
 * Sources run as <app>/main/service/resources.ts, a build as <app>/dist/main/…/*.js. In both cases
 * resources/, package.json and dist/renderer/ lie below <app>.
 */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** @param name below resources/, e.g. 'sluice.yaml' */
export function resourcePath(name: string): string {
  return fileURLToPath(new URL(`resources/${name}`, appRoot()));
}

/** Folder of the built user interface; need not exist. */
export function rendererPath(): string {
  return fileURLToPath(new URL('dist/renderer', appRoot()));
}

/** The version in package.json; "0.0.0" when it cannot be read. */
export function programVersion(): string {
  try {
    const text = readFileSync(new URL('package.json', appRoot()), 'utf8');
    const { version } = JSON.parse(text) as { version?: unknown };
    return typeof version === 'string' ? version : '0.0.0';
  } catch {
    // A version that cannot be told is no reason not to start; the placeholder shows it.
    return '0.0.0';
  }
}

/** What this build was made from, as build.ts wrote it; null when the program runs from source. */
export function buildId(): string | null {
  const here = import.meta.url;
  if (here.endsWith('.ts')) return null;
  try {
    return readFileSync(new URL('dist/main/build-id', appRoot()), 'utf8').trim();
  } catch {
    return null; // a build made by other means; it does without what the id is for
  }
}

function appRoot(): URL {
  const here = import.meta.url;
  const aboveMain = here.slice(0, here.lastIndexOf('/main/') + 1);
  return new URL(here.endsWith('.ts') ? './' : '../', aboveMain);
}
