/** What an HTTP response says, for DNS over HTTPS in both of its versions. RFC 8484 §4.2, §5.1. */
import { LIMITS } from '../../contract/limits.ts';

export const DNS_MESSAGE = 'application/dns-message';

/**
 * What is told of a request. Each request ends with `responded`, `refused` or `lost`, once,
 * or with the connection.
 */
export interface HttpUser<Request> {
  /** The head of a response arrived. */
  heard(): void;
  responded(request: Request, body: Buffer, ageSeconds: number): void;
  /** The response is none that may be used. @param reason  a clause for people */
  refused(request: Request, reason: string): void;
  /** No response. @param mayRepeat  the server has not looked at it */
  lost(request: Request, mayRepeat: boolean): void;
  /** The server takes no more requests on this connection. */
  leaving(): void;
  /** There is room for another request. */
  freed(): void;
}

/** One connection that speaks HTTP. */
export interface HttpClient<Request> {
  /** Requests that may be under way. */
  readonly capacity: number;
  /** Requests under way, those that were given up included. */
  readonly load: number;
  /** Sends a request. Reports nothing before it has returned. */
  request(request: Request, query: Buffer): void;
  /** Its response is not wanted any more; nothing is reported of it. */
  cancel(request: Request): void;
  /** Asks for a sign of life; false when there is no such thing. */
  ping(alive: () => void): boolean;
  close(): void;
}

/** '' for a response that may hold an answer. */
export function responseTrouble(status: number | undefined, contentType: string): string {
  if (status !== 200) return `it answers with HTTP status ${String(status ?? 'none')}`;
  const type = contentType.split(';')[0]?.trim().toLowerCase() ?? '';
  return type === DNS_MESSAGE ? '' : `its answer is "${type.slice(0, 60)}", not ${DNS_MESSAGE}`;
}

/** Seconds that a response spent in caches, of its header `age`. */
export function ageOf(header: string | undefined): number {
  const age = Number(header ?? 0);
  return Number.isInteger(age) && age > 0 ? Math.min(age, 0xffff_ffff) : 0;
}

/** The path of a GET request. */
export function getPath(path: string, query: Buffer): string {
  return `${path}${path.includes('?') ? '&' : '?'}dns=${query.toString('base64url')}`;
}

/** Collects a body of at most one DNS message. */
export class ResponseBody {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;

  /** False when it is longer than any answer. */
  add(chunk: Buffer): boolean {
    this.#bytes += chunk.length;
    this.#chunks.push(chunk);
    return this.#bytes <= LIMITS.messageBytesMax;
  }

  take(): Buffer {
    return Buffer.concat(this.#chunks, this.#bytes);
  }
}

export const TOO_LONG = 'its answer is above 64 KiB';
