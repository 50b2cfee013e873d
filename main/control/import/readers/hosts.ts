/**
 * Takes over hosts files and plain lists: addresses of a home network become local records, all
 * other names rules. Used by import-file.ts, and for the records of Pi-hole.
 */
import type { ImportDraft } from '../draft/draft.ts';
import { addressType, isSinkhole, linesOf, withoutComment, words } from '../draft/values.ts';

/** The address that Debian gives the machine's own name. */
const OWN_ADDRESS = '127.0.1.1';
/** Names that every hosts file has for the machine itself. RFC 6761, RFC 4291 §2.7.1. */
const OWN_NAMES = /^(localhost|localhost\..*|ip6-.*|broadcasthost|local|.*\.localdomain)$/i;

/** Takes the records of a hosts file; entries of this machine and of blocked names are passed over. */
export function takeHosts(content: string, draft: ImportDraft): void {
  for (const line of linesOf(content, (why) => draft.skip('records', '', why))) {
    const entry = hostsEntry(line);
    if (!entry || isSinkhole(entry.address)) continue;
    for (const name of entry.names) takeRecord(entry.address, name, draft);
  }
}

/** Takes each line: an entry of a hosts file, or else a rule. */
export function takePlainList(content: string, draft: ImportDraft): void {
  for (const line of linesOf(content, (why) => draft.skip('rules', '', why))) {
    takeLine(line, draft);
  }
}

function takeLine(line: string, draft: ImportDraft): void {
  if (/^[!;[]|^#(?!#|@#|\?#|\$#)/.test(line)) return;
  const entry = hostsEntry(line);
  if (!entry) {
    draft.addRule(withoutComment(line));
    return;
  }
  if (entry.address === OWN_ADDRESS) return;
  for (const name of entry.names) {
    if (!isSinkhole(entry.address)) takeRecord(entry.address, name, draft);
    // A hosts file says nothing about names below.
    else if (!OWN_NAMES.test(name)) draft.addRule(`|${name}^`);
  }
}

function takeRecord(address: string, name: string, draft: ImportDraft): void {
  const type = addressType(address);
  if (type !== '' && !OWN_NAMES.test(name)) draft.addRecord(name, type, address);
}

function hostsEntry(line: string): { address: string; names: string[] } | null {
  const hash = line.indexOf('#');
  const [address = '', ...names] = words(hash < 0 ? line : line.slice(0, hash));
  return addressType(address) === '' || names.length === 0 ? null : { address, names };
}
