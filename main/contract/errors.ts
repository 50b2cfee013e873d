/**
 * The closed set of operating failures, and their form on the way across threads, IPC and HTTP.
 *
 * Callers match `code`, never the class: class identity does not survive a thread boundary.
 */

/** What a person can do about each code stands beside it. */
export const ERROR_CODES = {
  CONFIG_INVALID: 'correct the named key in the settings file',
  CONFIG_UNWRITABLE: 'make the settings file and its folder writable',
  DATA_FOLDER_UNUSABLE: 'name another folder with --data-dir',
  PORT_IN_USE: 'stop the named process, or listen on another address',
  PORT_FORBIDDEN: 'use a port above 1023, or allow the program to bind this one',
  ADDRESS_UNAVAILABLE: 'use an address that this machine has',
  LIST_UNREACHABLE: 'check the URL of the list and the network',
  LIST_REJECTED: 'look at what the URL serves',
  LIST_UNKNOWN: 'use a name from the lists section of the settings',
  LIST_EXISTS: 'choose another name, or remove the list first',
  RULE_INVALID: 'write the rule as ||name^ to block or @@||name^ to allow',
  RULE_UNKNOWN: 'use a rule from the rules section of the settings',
  ENTRY_UNKNOWN: 'use a name from that section of the settings',
  IMPORT_REFUSED: 'use a file as the other program has written it',
  LOG_UNAVAILABLE: 'look at the reason in the health report',
  SEARCH_TIMEOUT: 'narrow the search to a shorter time or a longer name',
  METHOD_UNKNOWN: 'use a method from the OpenAPI document',
  ARGUMENT_INVALID: 'correct the named argument',
  NOT_ALLOWED: 'the token of this instance lets in; "sluice token" prints it',
  LOCAL_ONLY: 'use the command line on the machine that Sluice runs on',
  UPLOAD_UNKNOWN: 'send the file again',
  NOT_RUNNING: 'start Sluice first',
  ALREADY_RUNNING: 'stop the other instance, or use another data folder',
  TAKEOVER_HELD: 'switch the other instance off first',
  TAKEOVER_FAILED: 'look at the reason; the system resolver is as it was before',
  RIGHT_REFUSED: 'run the commands shown beside it in a terminal',
  RESTORE_FAILED: 'run "sluice restore" again, or set the servers of this machine by hand',
  TOO_MANY: 'close another subscriber or connection first',
  DISK_FULL: 'make room on the disk that holds the data folder',
  INTERNAL: 'report this as a bug',
} as const;

export type ErrorCode = keyof typeof ERROR_CODES;

/** An operating failure. `message` is lower case and names the action and the bad input. */
export class AppError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'AppError';
    this.code = code;
  }
}

/** An error as it crosses a thread, a socket or a pipe. */
export interface WireError {
  readonly code: ErrorCode;
  readonly message: string;
}

/** Turns anything thrown into its wire form; what is not an AppError becomes INTERNAL. */
export function toWire(error: unknown): WireError {
  if (error instanceof AppError) return { code: error.code, message: error.message };
  return { code: 'INTERNAL', message: error instanceof Error ? error.message : String(error) };
}

/** Codes whose messages say themselves what to do. */
const SELF_EXPLAINING: ReadonlySet<ErrorCode> = new Set([
  'RULE_INVALID',
  'ARGUMENT_INVALID',
  'CONFIG_INVALID',
  'NOT_RUNNING',
  'PORT_IN_USE',
  'LOCAL_ONLY',
]);

/** One line for a person: what failed, and what to do about it where that is not said yet. */
export function lineOf({ code, message }: WireError): string {
  const line = message.replace(/\s*\n\s*/g, ' ');
  return SELF_EXPLAINING.has(code) ? line : `${line} (${ERROR_CODES[code]})`;
}

/** The inverse of `toWire`. */
export function fromWire(wire: WireError): AppError {
  return new AppError(wire.code, wire.message);
}

/** Throws when something that cannot be is so. The thread ends; its owner restarts and counts it. */
export function invariant(condition: boolean, text: string): asserts condition {
  if (!condition) throw new Error(`broken invariant: ${text}`);
}
