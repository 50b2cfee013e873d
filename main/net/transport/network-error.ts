/** What an error of a socket says: of the server, or of this machine's own network. */
import { getSystemErrorName } from 'node:util';

/**
 * Why something that was sent cannot be answered:
 *
 *     network  this machine cannot: no route, link, address or free handle, or a firewall forbids it
 *     server   nobody listens there, or it is not who it should be
 *     closed   somebody is there, and has ended the connection or given no usable answer
 */
export type SendFailure = 'network' | 'server' | 'closed';

const NETWORK_ERRORS: ReadonlySet<string> = new Set([
  ...['ENETUNREACH', 'EHOSTUNREACH', 'ENETDOWN', 'EHOSTDOWN', 'ENONET'],
  ...['EADDRNOTAVAIL', 'EPERM', 'EACCES', 'EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM'],
]);

/** Somebody was there: a server that is busy, or takes no second connection, does so as well. */
const CLOSED_ERRORS: ReadonlySet<string> = new Set(['ECONNRESET', 'ECONNABORTED', 'EPIPE']);

/** @param error  a socket's error, or an errno value; null when there is none */
export function sendFailureOf(error: unknown): SendFailure {
  const code = typeof error === 'number' ? nameOf(error) : codeOf(error);
  if (NETWORK_ERRORS.has(code)) return 'network';
  return CLOSED_ERRORS.has(code) ? 'closed' : 'server';
}

function codeOf(error: unknown): string {
  return error instanceof Error ? ((error as NodeJS.ErrnoException).code ?? '') : '';
}

function nameOf(errno: number): string {
  return errno > 0 ? getSystemErrorName(-errno) : '';
}
