/** What most parts need: an upstream that answers every name, and one question with a patient wait. */
import { askUdp } from '../../test/support/dns-client.ts';
import { answerAddress, FakeUpstream } from '../../test/support/fake-upstream.ts';

/** What the good upstream answers to everything; a documentation address (RFC 5737). */
export const GOOD_ADDRESS = '192.0.2.77';
/** Names below it are asked of the upstream. */
export const ZONE = 'asked.example';

/** Closes what was opened with it, last first. */
export class Closers {
  readonly #all: (() => unknown)[] = [];

  after(close: () => unknown): void {
    this.#all.push(close);
  }

  async close(): Promise<void> {
    for (const close of this.#all.splice(0).reverse()) await close();
  }
}

export async function goodUpstream(closers: Closers): Promise<string> {
  const upstream = await FakeUpstream.open(closers as never, answerAddress(GOOD_ADDRESS));
  const timer = setInterval(() => (upstream.queries as unknown[]).splice(0), 1_000);
  closers.after(() => clearInterval(timer));
  return upstream.endpoint;
}

/** The first address of a name, the RCODE in letters, or 'silence'. */
export async function addressOf(port: number, name: string, timeoutMs = 5_000): Promise<string> {
  try {
    const answer = await askUdp(`127.0.0.1:${String(port)}`, name, 'A', { timeoutMs });
    const record = (answer.answers ?? []).find(({ type }) => type === 'A');
    return record?.type === 'A' ? record.data : answer.rcode;
  } catch {
    return 'silence';
  }
}
