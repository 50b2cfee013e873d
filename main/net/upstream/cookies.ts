/**
 * DNS cookies towards one plain server (RFC 7873): a secret of ours that it sends back, and one of
 * its own that we send back. A forger who does not see our queries knows neither. Used by the
 * upstream pool; kept by each upstream.
 */
import type { Random } from '../../engine/query/ports.ts';
import { cookieOption } from './message.ts';

const CLIENT_BYTES = 8;
const NO_COOKIE = Buffer.alloc(0);

/** What was learned about a cookie. */
export type CookieVerdict =
  /** Right, or not to be expected. */
  | 'fine'
  /** Not ours: somebody else's message. */
  | 'foreign'
  /** Missing where it was there before; upstream-quirks.ts counts how often that is. */
  | 'missing';

/** The cookies of one server. */
export class UpstreamCookies {
  readonly #random: Random;
  #client: Buffer = NO_COOKIE;
  #server: Buffer = NO_COOKIE;
  /** The option as it is sent; null when a part of it has changed. */
  #option: Buffer | null = null;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Our part, the same for every question until `forget`: RFC 7873 §4.1. */
  get client(): Buffer {
    if (this.#client.length === 0) {
      this.#client = Buffer.alloc(CLIENT_BYTES);
      this.#client.writeUInt32BE(this.#random.uint32(), 0);
      this.#client.writeUInt32BE(this.#random.uint32(), 4);
    }
    return this.#client;
  }

  /** Never changed afterwards. */
  option(): Buffer {
    this.#option ??= cookieOption(this.client, this.#server);
    return this.#option;
  }

  /**
   * Looks at the cookie of a reply that is right otherwise.
   *
   * @param sent      our part as the question carried it
   * @param received  the whole cookie of the reply; null without one
   */
  check(sent: Buffer, received: Buffer | null, overTcp: boolean): CookieVerdict {
    if (received === null) {
      if (!overTcp) return this.#server.length === 0 ? 'fine' : 'missing';
      if (this.#server.length > 0) this.#learn(NO_COOKIE);
      return 'fine';
    }
    if (received.length < CLIENT_BYTES || sent.compare(received, 0, CLIENT_BYTES) !== 0) {
      return 'foreign';
    }
    const isCurrent = sent === this.#client;
    if (isCurrent && this.#server.compare(received, CLIENT_BYTES) !== 0) {
      this.#learn(Buffer.from(received.subarray(CLIENT_BYTES)));
    }
    return 'fine';
  }

  /** Another network: there, the old cookie would tell who we were. RFC 7873 §8.1. */
  forget(): void {
    this.#client = NO_COOKIE;
    this.#learn(NO_COOKIE);
  }

  #learn(server: Buffer): void {
    this.#server = server;
    this.#option = null;
  }
}
