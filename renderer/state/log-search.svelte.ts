/**
 * A search of the query log: the form's fields, the page of rows found, and the way to older pages.
 *
 * Pages replace one another, so the window never holds more than one, however far one goes back.
 */
import type {
  MethodInput,
  MethodOutput,
  ServiceClient,
} from '../../main/contract/methods/methods.ts';
import type { OutcomeName } from '../../main/contract/outcome.ts';

const pageRows = 100;
const typingPauseMs = 300;
const minuteMs = 60_000;

/** Time ranges by name, in minutes; `any` has no beginning, `between` has fields of its own. */
export const periods = {
  any: null,
  quarter: 15,
  hour: 60,
  day: 1_440,
  week: 10_080,
  between: null,
} as const;
export type PeriodName = keyof typeof periods;

type SearchInput = MethodInput<'queries.search'>;
type SearchPage = MethodOutput<'queries.search'>;

export class LogSearch {
  readonly #client: ServiceClient;
  text = $state('');
  client = $state('');
  outcome = $state<OutcomeName | ''>('');
  period = $state<PeriodName>('any');
  /** Values of datetime-local fields; '' for an open end. */
  from = $state('');
  to = $state('');
  #page = $state.raw<SearchPage | null>(null);
  #error = $state.raw<unknown>(null);
  #isSearching = $state(false);
  /** Where each page up to the shown one begins; undefined stands for the newest row. */
  #starts = $state.raw<readonly (number | undefined)[]>([undefined]);
  #criteria: SearchInput = {};
  #turn = 0;
  #typing: ReturnType<typeof setTimeout> | undefined;

  constructor(client: ServiceClient) {
    this.#client = client;
  }

  get page(): SearchPage | null {
    return this.#page;
  }

  get error(): unknown {
    return this.#error;
  }

  get isSearching(): boolean {
    return this.#isSearching;
  }

  /** 1 for the newest page. */
  get pageNumber(): number {
    return this.#starts.length;
  }

  get hasOlder(): boolean {
    return this.#page !== null && this.#page.nextBeforeId !== null;
  }

  get isNarrowed(): boolean {
    return (
      this.text.trim() !== '' ||
      this.client.trim() !== '' ||
      this.outcome !== '' ||
      this.period !== 'any'
    );
  }

  /** Starts over with what the form says. */
  async search(): Promise<void> {
    clearTimeout(this.#typing);
    this.#criteria = this.#readForm(Date.now());
    await this.#show([undefined]);
  }

  /** Starts over once the person has stopped typing. */
  searchSoon(): void {
    clearTimeout(this.#typing);
    this.#typing = setTimeout(() => void this.search(), typingPauseMs);
  }

  async older(): Promise<void> {
    const next = this.#page?.nextBeforeId;
    if (this.#isSearching || next === null || next === undefined) return;
    await this.#show([...this.#starts, next]);
  }

  async newer(): Promise<void> {
    if (this.#isSearching || this.#starts.length === 1) return;
    await this.#show(this.#starts.slice(0, -1));
  }

  async clear(): Promise<void> {
    this.text = '';
    this.client = '';
    this.outcome = '';
    this.period = 'any';
    await this.search();
  }

  #readForm(nowMs: number): SearchInput {
    const input: SearchInput = { limit: pageRows };
    const text = this.text.trim().toLowerCase();
    const client = this.client.trim();
    if (text !== '') input.text = text;
    if (client !== '') input.client = client;
    if (this.outcome !== '') input.outcome = this.outcome;
    const minutes = periods[this.period];
    if (minutes !== null) input.sinceMs = nowMs - minutes * minuteMs;
    if (this.period !== 'between') return input;
    if (this.from !== '') input.sinceMs = Date.parse(this.from);
    if (this.to !== '') input.untilMs = Date.parse(this.to);
    return input;
  }

  async #show(starts: readonly (number | undefined)[]): Promise<void> {
    const turn = ++this.#turn;
    this.#isSearching = true;
    const beforeId = starts.at(-1);
    try {
      const input = beforeId === undefined ? this.#criteria : { ...this.#criteria, beforeId };
      const page = await this.#client.call('queries.search', input);
      if (turn !== this.#turn) return;
      this.#page = page;
      this.#starts = starts;
      this.#error = null;
    } catch (error) {
      if (turn === this.#turn) this.#error = error;
    } finally {
      if (turn === this.#turn) this.#isSearching = false;
    }
  }
}
