/** What is wrong with a form that was sent: beside one of its fields, or for the whole. */
import { toFieldError, type FieldError } from '../client/field-error.ts';

const NOTHING: FieldError = { field: '', text: '' };

export class FormErrors {
  readonly #fields: readonly string[];
  #error = $state.raw(NOTHING);

  /** @param fields  those that show their own errors: domains, schedule.to */
  constructor(fields: readonly string[]) {
    this.#fields = fields;
  }

  /** Of a field, or of one below it; '' when nothing is wrong there. */
  of(field: string): string {
    return this.#owner === field ? this.#error.text : '';
  }

  /** What belongs to no field. */
  get rest(): string {
    return this.#owner === '' ? this.#error.text : '';
  }

  take(failure: unknown): void {
    this.#error = toFieldError(failure);
  }

  clear(): void {
    this.#error = NOTHING;
  }

  get #owner(): string {
    const { field } = this.#error;
    return this.#fields.find((one) => field === one || field.startsWith(`${one}.`)) ?? '';
  }
}
