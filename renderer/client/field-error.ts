/**
 * Finds the field that an error of the service is about. Such an error begins with a path, either of
 * the argument (`policy.domains[0]: …`) or of the settings (`policies[2].schedule.to: …`).
 */
import { asSentence, CallError, describeError } from './call-error.ts';

export interface FieldError {
  /** Keys below the object, without positions: domains, schedule.to; '' for the whole. */
  readonly field: string;
  /** A sentence. */
  readonly text: string;
}

/** Found by the window itself, before anything is sent. The message is a sentence. */
export class FieldProblem extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.name = 'FieldProblem';
    this.field = field;
  }
}

const PATH = /^[a-zA-Z][\w-]*(?:\[\d+\])?((?:\.[\w-]+|\[\d+\])*): ([^]+)$/;

export function toFieldError(error: unknown): FieldError {
  if (error instanceof FieldProblem) return { field: error.field, text: error.message };
  const isAboutInput =
    error instanceof CallError && ['ARGUMENT_INVALID', 'CONFIG_INVALID'].includes(error.code);
  const match = isAboutInput ? PATH.exec(error.message) : null;
  if (match === null) return { field: '', text: describeError(error) };
  const [, path = '', text = ''] = match;
  return { field: path.replace(/\[\d+\]/g, '').replace(/^\./, ''), text: asSentence(text) };
}
