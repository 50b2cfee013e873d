/**
 * The Public Suffix List, its private section included, by tldts. Loaded at the first question, so
 * that only threads that parse lists pay for it.
 */
import { createRequire } from 'node:module';
import type { getPublicSuffix } from 'tldts';

const OPTIONS = {
  allowPrivateDomains: true,
  extractHostname: false,
  validateHostname: false,
  detectIp: false,
  mixedInputs: false,
} as const;

let find: typeof getPublicSuffix | null = null;

/** Whether strangers register names directly below this one. @param name  lower-case A-labels */
export function isPublicSuffix(name: string): boolean {
  find ??= (createRequire(import.meta.url)('tldts') as { getPublicSuffix: typeof getPublicSuffix })
    .getPublicSuffix;
  return find(name, OPTIONS) === name;
}
