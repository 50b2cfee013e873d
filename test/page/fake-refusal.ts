/** What the methods of the fake service take, and how they refuse. */
import type { ErrorCode } from '../../main/contract/errors.ts';

/** A failure that the service tells with a code. */
export class FakeRefusal extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}

export type MethodArguments = Record<string, unknown>;

/** A text that was given; '' for none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
