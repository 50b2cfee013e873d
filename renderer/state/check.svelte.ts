/**
 * The check of a name: what is typed, what came of it, and checks that other pages ask for
 * ("Why?" beside a query).
 */
import type { MethodOutput, ServiceClient } from '../../main/contract/methods/methods.ts';
import { describeError } from '../client/call-error.ts';

export type CheckFound = MethodOutput<'check'>;

export interface CheckQuestion {
  readonly name: string;
  /** Mnemonic. */
  readonly type: string;
  /** An address, or the name of a client; '' for nobody in particular. */
  readonly client: string;
}

const standardTypes = ['A', 'AAAA', 'HTTPS', 'MX', 'TXT', 'PTR', 'SRV'];

export class Check {
  readonly #client: ServiceClient;
  name = $state('');
  type = $state('A');
  /** The client as typed. */
  who = $state('');
  #found = $state.raw<CheckFound | null>(null);
  #error = $state('');
  #isChecking = $state(false);
  /** Grows with each check, so that a late answer never replaces a newer one. */
  #turn = 0;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  /** Null before the first check, and after one that failed. */
  get found(): CheckFound | null {
    return this.#found;
  }

  /** Why the last check failed; '' when it did not. */
  get error(): string {
    return this.#error;
  }

  get isChecking(): boolean {
    return this.#isChecking;
  }

  /** Types to choose from, the one of a query among them. */
  get types(): readonly string[] {
    return standardTypes.includes(this.type) ? standardTypes : [...standardTypes, this.type];
  }

  /** Fills the form and checks. */
  async open({ name, type, client }: CheckQuestion): Promise<void> {
    this.name = name;
    this.type = type;
    this.who = client;
    await this.run(false);
  }

  /** Checks what is in the form. @param resolve  asks for the name once */
  async run(resolve: boolean): Promise<void> {
    const turn = ++this.#turn;
    const client = this.who.trim();
    this.#isChecking = true;
    try {
      const found = await this.#client.call('check', {
        name: this.name.trim(),
        type: this.type,
        ...(client !== '' && { client }),
        ...(resolve && { resolve }),
      });
      this.#settle(turn, found, '');
    } catch (failure) {
      this.#settle(turn, null, describeError(failure));
    }
  }

  #settle(turn: number, found: CheckFound | null, error: string): void {
    if (turn !== this.#turn) return;
    this.#found = found;
    this.#error = error;
    this.#isChecking = false;
  }
}
