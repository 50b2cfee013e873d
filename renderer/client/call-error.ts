/**
 * How a failed call looks in the window, whichever transport it took, and what is said about it.
 */
import type { ErrorCode, WireError } from '../../main/contract/errors.ts';
import { t } from '../text.ts';

/** DISCONNECTED: no answer came at all. */
export type CallErrorCode = ErrorCode | 'DISCONNECTED';

/** A call that did not succeed. `message` is the service's own text: lower case, no full stop. */
export class CallError extends Error {
  readonly code: CallErrorCode;

  constructor(code: CallErrorCode, message: string) {
    super(message);
    this.name = 'CallError';
    this.code = code;
  }
}

/** Whether a value has the shape of an error from the service. */
export function isWireError(value: unknown): value is WireError {
  if (typeof value !== 'object' || value === null) return false;
  return (
    'code' in value &&
    typeof value.code === 'string' &&
    'message' in value &&
    typeof value.message === 'string'
  );
}

/** One or more sentences for a person, from anything thrown by a call. */
export function describeError(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text === '' ? t().errors.unknown : asSentence(text);
}

/** Ends with a full stop and starts with a capital letter, unless it starts with a name; '' stays. */
export function asSentence(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') return '';
  const isWord = /^[a-z]+(?![^\s,;:])/.test(trimmed);
  const start = isWord ? trimmed.charAt(0).toUpperCase() + trimmed.slice(1) : trimmed;
  return /[.!?…]$/.test(start) ? start : `${start}.`;
}
