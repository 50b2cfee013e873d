/**
 * Reads the text files beside dnscrypt-proxy.toml: blocked-names.txt, allowed-names.txt,
 * cloaking-rules.txt and forwarding-rules.txt (and the first two by their older names). They look
 * like other lists, so their names say which they are; blocked names are also known by a line that
 * begins with "=". Called by import-file.ts.
 */
import { isIP } from 'node:net';
import { ImportDraft } from '../draft/draft.ts';
import { addressType, isSinkhole, linesOf, withoutComment, words } from '../draft/values.ts';

type Kind = 'blocked' | 'allowed' | 'cloaking' | 'forwarding';

/** Null when the file is none of these. */
export function readDnscryptProxy(content: string, name: string): ImportDraft | null {
  const kind = kindOf(content, name);
  if (kind === null) return null;
  const draft = new ImportDraft('dnscrypt-proxy');
  for (const written of linesOf(content, (why) => draft.skip('rules', '', why))) {
    const line = withoutComment(written);
    if (line !== '') TAKE[kind](line, draft);
  }
  return draft;
}

function kindOf(content: string, name: string): Kind | null {
  if (/blocked-names|blacklist\.txt$/i.test(name)) return 'blocked';
  if (/allowed-names|whitelist\.txt$/i.test(name)) return 'allowed';
  if (/cloaking-rules/i.test(name)) return 'cloaking';
  if (/forwarding-rules/i.test(name)) return 'forwarding';
  const head = content.slice(0, 65_536).split('\n');
  return head.some((line) => /^=[\w-]+(?:\.[\w-]+)+\s*(?:#.*)?$/.test(line)) ? 'blocked' : null;
}

const TAKE: Readonly<Record<Kind, (line: string, draft: ImportDraft) => void>> = {
  blocked: (line, draft) => {
    takePattern(line, '', draft);
  },
  allowed: (line, draft) => {
    takePattern(line, '@@', draft);
  },
  cloaking: takeCloaking,
  forwarding: takeForwarding,
};

/** "pattern [@schedule]" */
function takePattern(line: string, start: '' | '@@', draft: ImportDraft): void {
  const [pattern = '', schedule] = words(line);
  if (schedule !== undefined) {
    draft.skip('rules', line, 'its hours are in another file; add a policy with a schedule');
    return;
  }
  const rule = ruleOf(pattern.toLowerCase());
  if (rule === '') draft.skip('rules', line, 'the pattern cannot be read');
  else draft.addRule(`${start}${rule}`);
}

/** A name means all below it, too; "=" the name alone; stars any characters. */
function ruleOf(pattern: string): string {
  if (pattern.startsWith('=')) return `|${pattern.slice(1)}^`;
  const inner = pattern.replace(/^\*\.?|^\./, '');
  if (!/[*?[\]]/.test(inner)) return inner === '' ? '' : `||${inner}^`;
  if (/^[^*?[\]]+\*$/.test(pattern)) return `|${pattern}`;
  if (/^\*[^*?[\]]+\*$/.test(pattern)) return pattern;
  return globRule(pattern);
}

/** As filepath.Match of Go: "*" any characters, "?" one, "[...]" one of some. */
function globRule(pattern: string): string {
  if (!/^[\w.*?[\]^-]+$/.test(pattern)) return '';
  const body = pattern.replaceAll('.', '\\.').replaceAll('*', '.*').replaceAll('?', '.');
  return `/^${body}$/`;
}

/** "name target": an address, or another name. */
function takeCloaking(line: string, draft: ImportDraft): void {
  const [written = '', ...targets] = words(line);
  const isExact = written.startsWith('=');
  const name = written.replace(/^=|^\*\.?/, '').toLowerCase();
  if (targets.length === 0 || /[*?[\]]/.test(name)) {
    draft.skip('records', line, 'patterns with an answer of their own are not taken');
    return;
  }
  for (const target of targets) {
    if (isSinkhole(target)) draft.addRule(isExact ? `|${name}^` : `||${name}^`);
    else if (isExact) draft.addRecord(name, addressType(target) || 'CNAME', target);
    else draft.addSubtree(name, addressType(target) || 'CNAME', target);
  }
}

/** "domain server[,server...]" */
function takeForwarding(line: string, draft: ImportDraft): void {
  const [domain = '', ...rest] = words(line);
  const name = domain.replace(/^\*\.?/, '');
  for (const server of rest.join('').split(',')) {
    if (server === '') continue;
    if (server.startsWith('$')) draft.skip('upstreams', line, `${server} has no equal here`);
    else if (name === '' || name === '.') draft.addUpstream(plainServer(server));
    else draft.addUpstream(plainServer(server), draft.suffixServers(name));
  }
}

function plainServer(server: string): string {
  if (isIP(server) > 0) return server;
  return server.replace(/:53$/, '').replace(/^\[([^\]]+)\]$/, '$1');
}
