/**
 * Writes answers of the HTTP door: JSON, plain text, errors as {error: {code, message}}, and the
 * security headers that all of them carry. Used by the files interfaces/http*.ts only.
 */
import type { OutgoingHttpHeaders, ServerResponse } from 'node:http';
import type { ErrorCode, WireError } from '../../contract/errors.ts';
import { PAGE_POLICY } from './page-policy.ts';

/** Sent with every answer. */
export const SECURITY_HEADERS = {
  'content-security-policy': PAGE_POLICY,
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
} as const;

/** HTTP status of each error code. Source: RFC 9110 §15. */
const STATUS: Readonly<Record<ErrorCode, number>> = {
  CONFIG_INVALID: 409,
  CONFIG_UNWRITABLE: 500,
  DATA_FOLDER_UNUSABLE: 500,
  PORT_IN_USE: 500,
  PORT_FORBIDDEN: 500,
  ADDRESS_UNAVAILABLE: 500,
  LIST_UNREACHABLE: 502,
  LIST_REJECTED: 502,
  LIST_UNKNOWN: 404,
  ENTRY_UNKNOWN: 404,
  LIST_EXISTS: 409,
  IMPORT_REFUSED: 400,
  RULE_INVALID: 400,
  RULE_UNKNOWN: 404,
  LOG_UNAVAILABLE: 503,
  SEARCH_TIMEOUT: 504,
  METHOD_UNKNOWN: 404,
  ARGUMENT_INVALID: 400,
  NOT_ALLOWED: 403,
  LOCAL_ONLY: 403,
  UPLOAD_UNKNOWN: 404,
  NOT_RUNNING: 503,
  ALREADY_RUNNING: 409,
  TOO_MANY: 429,
  TAKEOVER_HELD: 409,
  TAKEOVER_FAILED: 500,
  RIGHT_REFUSED: 403,
  RESTORE_FAILED: 500,
  DISK_FULL: 507,
  INTERNAL: 500,
};

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  send(response, status, 'application/json; charset=utf-8', JSON.stringify(value));
}

/** @param status  where HTTP knows better than the code, e.g. 413 */
export function sendError(response: ServerResponse, error: WireError, status?: number): void {
  const { code, message } = error;
  sendJson(response, status ?? STATUS[code], { error: { code, message } });
}

/** A client that has not taken an answer for so long is not coming back. */
const STALL_MAX_MS = 30_000;

/** @param body  sent as it is; one buffer may be on its way to many clients */
export function send(
  response: ServerResponse,
  status: number,
  type: string,
  body: string | Buffer,
  headers: OutgoingHttpHeaders = {},
): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, {
    ...SECURITY_HEADERS,
    'cache-control': 'no-store',
    ...(status !== 304 && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
    ...headers,
  });
  const stall = setTimeout(() => response.destroy(), STALL_MAX_MS).unref();
  response.on('close', () => {
    clearTimeout(stall);
  });
  response.end(body);
}
