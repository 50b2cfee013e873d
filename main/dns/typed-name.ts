/**
 * Reads a domain name as people type or paste it, so that it is compared in the form that rules,
 * lists and packets have. Used by the methods that take one name.
 */
import { isIP } from 'node:net';
import { domainToASCII } from 'node:url';
import { AppError } from '../contract/errors.ts';

/**
 * @param text  a name in any letter case or script, a URL, or a host with a port
 * @returns     the name, in A-labels when the text has other letters than ASCII
 * @throws      AppError ARGUMENT_INVALID for an address and for what is no name at all
 */
export function readTypedName(text: string): string {
  const trimmed = text.trim();
  const host = hostOf(trimmed);
  if (isIP(host.replace(/^\[|\]$/g, '')) > 0) {
    throw invalid(trimmed, 'is an IP address; write the name that was asked for');
  }
  // The rest of the reading, with escapes and lengths, is the engine's.
  if (/^[!-~]+$/.test(host)) return host;
  // Full-width and ideographic dots separate labels too. Source: UTS #46, section 2.3.
  const ascii = /\s/.test(host) ? '' : domainToASCII(host);
  if (ascii === '') throw invalid(trimmed, 'is not a domain name');
  return ascii;
}

function hostOf(text: string): string {
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text)) {
    const host = /^[^:]+:\/\/(?:[^/?#@]*@)?(\[[^\]]*\]|[^/?#:]*)/.exec(text)?.[1] ?? '';
    if (host === '') throw invalid(text, 'has no host name');
    return host;
  }
  if (isIP(text) > 0) return text;
  return /^([^/?#:\s]+)(:\d{1,5})?([/?#].*)?$/.exec(text)?.[1] ?? text;
}

function invalid(text: string, why: string): AppError {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return new AppError('ARGUMENT_INVALID', `name: "${shown}" ${why}`);
}
