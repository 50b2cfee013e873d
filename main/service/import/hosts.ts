/**
 * Takes over hosts files and plain lists: addresses of a home network become local records, all
 * other names rules. Used by import-file.ts, and for the records of Pi-hole.
 */
import { isIP } from 'node:net';
import { LIMITS } from '../../contract/limits.ts';
import type { ImportDraft } from './draft.ts';

/** Addresses that mean "this name is blocked". */
const NOWHERE = new Set(['0.0.0.0', '::', '127.0.0.1', '::1', '127.0.1.1', '255.255.255.255']);
/** Names that every hosts file has for the machine itself. RFC 6761, RFC 4291 §2.7.1. */
const OWN_NAMES = /^(localhost|localhost\..*|ip6-.*|broadcasthost|local|.*\.localdomain)$/i;

/** Takes the records of a hosts file; entries of this machine and of blocked names are passed over. */
export function takeHosts(content: string, draft: ImportDraft): void {
  for (const { address, names } of hostsLines(content)) {
    if (NOWHERE.has(address)) continue;
    for (const name of names) takeRecord(address, name, draft);
  }
}

/** Takes each line: an entry of a hosts file, or else a rule. */
export function takePlainList(content: string, draft: ImportDraft): void {
  const lines = content.split(/\r?\n/);
  for (const line of lines.slice(0, LIMITS.importRowsMax)) takeLine(line.trim(), draft);
  if (lines.length > LIMITS.importRowsMax) {
    draft.skip('rules', '', 'the file is too long; add it as a list instead');
  }
}

function takeLine(line: string, draft: ImportDraft): void {
  if (line === '' || /^[!;[]|^#(?!#|@#|\?#|\$#)/.test(line)) return;
  const [entry] = hostsLines(line);
  if (!entry) {
    draft.addRule(line.replace(/\s+#.*$/, ''));
    return;
  }
  const isBlocked = NOWHERE.has(entry.address);
  for (const name of entry.names) {
    if (!isBlocked) takeRecord(entry.address, name, draft);
    else if (!OWN_NAMES.test(name)) draft.addRule(`||${name}^`);
  }
}

function takeRecord(address: string, name: string, draft: ImportDraft): void {
  if (!OWN_NAMES.test(name)) draft.addRecord(name, isIP(address) === 6 ? 'AAAA' : 'A', address);
}

function hostsLines(content: string): { address: string; names: string[] }[] {
  return content
    .split('\n')
    .slice(0, LIMITS.importRowsMax)
    .flatMap((line) => {
      const [address = '', ...names] = line.replace(/#.*$/, '').trim().split(/\s+/);
      return isIP(address) === 0 || names.length === 0 ? [] : [{ address, names }];
    });
}
