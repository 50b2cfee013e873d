/**
 * Fetches one list over http or https into a file: conditional, compressed, bounded in bytes, time
 * and redirects. Called by fetch-list.ts in the main thread; names are resolved by the `lookup`
 * passed in, never by the system resolver, which may be this very program.
 */
import { createHash } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import http, { type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { LookupFunction } from 'node:net';
import type { SecureContext } from 'node:tls';
import { pipeline } from 'node:stream/promises';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { AppError } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import { AddressGuard } from './address-guard.ts';
import {
  CAN_READ_ZSTD,
  createZstdDecoder,
  decode,
  isDecoderError,
  unpackFile,
  type Decoder,
} from './decompress.ts';
import { diskFullError } from './disk-space.ts';
import { inMiB } from '../compile/validate.ts';

/** What to fetch, and what is there already. */
export interface DownloadRequest {
  readonly url: string;
  /** Validators of the copy in use; '' for none. RFC 9110 §13.1. */
  readonly etag: string;
  readonly lastModified: string;
  /** File that takes the body; removed again on failure. */
  readonly target: string;
  readonly lookup: LookupFunction;
  /** A copy from this URL came from a public address: no other one is connected to any more. */
  readonly publicOnly?: boolean | undefined;
  /** Another one than that of address-guard.ts, for tests. */
  readonly isPublicAddress?: ((address: string) => boolean) | undefined;
  /** Which authorities are trusted; those of the runtime when not given. */
  readonly trust?: ListTrust | undefined;
  /** Throws when the disk has no room for a body of so many bytes, or of an unknown size: 0. */
  readonly makeRoom?: (bytes: number) => Promise<void>;
  readonly signal: AbortSignal;
  /** Default LIMITS.listFetchMs. */
  readonly timeMs?: number | undefined;
}

/** As net/trust-store.ts TrustStore. */
export interface ListTrust {
  readonly context: SecureContext;
  refresh(error: NodeJS.ErrnoException, used: SecureContext): boolean;
}

/** A body that lies in the target file, complete. Null in its place: not changed. */
export interface Fetched {
  readonly bytes: number;
  /** Hex. */
  readonly sha256: string;
  readonly etag: string;
  readonly lastModified: string;
  /** It was asked for at a public address. */
  readonly isFromPublic: boolean;
}

/** Longest validator kept; a longer one is not sent back. */
const VALIDATOR_CHARS_MAX = 1_024;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);
/** Types that cannot be a list. Many servers send lists as octet-stream or text/html: not these. */
const WRONG_TYPES = /^(image|video|audio|font)\/|^application\/(zip|pdf|x-tar|x-7z|msword|wasm)/;

/**
 * @returns null when the server says that the copy in use is current
 * @throws AppError  LIST_UNREACHABLE (network, time, status), LIST_REJECTED (type, size, target), or
 *                   what `makeRoom` throws
 */
export async function downloadList(request: DownloadRequest): Promise<Fetched | null> {
  const timeMs = request.timeMs ?? LIMITS.listFetchMs;
  const ending = new AbortController();
  const { signal } = ending;
  const end = (): void => {
    ending.abort();
  };
  const timer = setTimeout(end, timeMs);
  request.signal.addEventListener('abort', end);
  if (request.signal.aborted) end();
  try {
    const guard = new AddressGuard(
      new URL(request.url),
      request.publicOnly ?? false,
      request.isPublicAddress,
    );
    const response = await followRedirects(request, guard, signal);
    if (response.statusCode === 304) {
      response.destroy();
      return null;
    }
    const received = await receive(response, request, signal);
    return { ...received, isFromPublic: guard.isFromPublic };
  } catch (error) {
    await rm(request.target, { force: true });
    throw diskFullError(error) ?? asAppError(error, signal, request, timeMs);
  } finally {
    clearTimeout(timer);
    request.signal.removeEventListener('abort', end);
  }
}

/** The first response that is no redirect: 200 or 304. */
async function followRedirects(
  request: DownloadRequest,
  guard: AddressGuard,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  let url = new URL(request.url);
  for (let redirects = 0; ; redirects++) {
    const response = await get(url, guard, request, signal);
    const status = response.statusCode ?? 0;
    if (status === 200) return response;
    if (status === 304 && (request.etag !== '' || request.lastModified !== '')) return response;
    response.destroy();
    const location = response.headers.location;
    if (!REDIRECTS.has(status) || location === undefined) {
      throw new AppError('LIST_UNREACHABLE', `${url.host} answered with status ${String(status)}`);
    }
    if (redirects >= LIMITS.listRedirectsMax) {
      throw new AppError('LIST_REJECTED', `more than ${String(redirects)} redirects`);
    }
    url = redirectTarget(location, url);
  }
}

/** Where a redirect leads, with the user's name and password for the very same server only. */
function redirectTarget(location: string, from: URL): URL {
  if (!URL.canParse(location, from.href)) {
    throw new AppError('LIST_REJECTED', `redirect to "${location.slice(0, 100)}", which is no URL`);
  }
  const target = new URL(location, from.href);
  const isHttp = target.protocol === 'http:' || target.protocol === 'https:';
  if (!isHttp || (from.protocol === 'https:' && target.protocol === 'http:')) {
    throw new AppError('LIST_REJECTED', `redirect from ${from.protocol} to ${target.protocol}`);
  }
  const isSame = target.origin === from.origin;
  target.username = isSame ? from.username : '';
  target.password = isSame ? from.password : '';
  return target;
}

/** Asks again when the machine turns out to trust the server's authority. */
async function get(
  url: URL,
  guard: AddressGuard,
  request: DownloadRequest,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const lookup = guard.nextLookup(url, request.lookup);
  const send = (secureContext?: SecureContext): Promise<IncomingMessage> =>
    getOnce(url, request, { lookup, signal, ...(secureContext && { secureContext }) });
  const trusted = url.protocol === 'https:' ? request.trust?.context : undefined;
  let response: IncomingMessage;
  try {
    response = await send(trusted);
  } catch (error) {
    if (!trusted || request.trust?.refresh(error as Error, trusted) !== true) throw error;
    response = await send(request.trust.context);
  }
  try {
    guard.answered(url, response.socket.remoteAddress ?? '');
  } catch (error) {
    response.destroy();
    throw error;
  }
  return response;
}

function getOnce(
  url: URL,
  request: DownloadRequest,
  connection: https.RequestOptions,
): Promise<IncomingMessage> {
  const headers: Record<string, string> = {
    'user-agent': 'Sluice',
    accept: 'text/plain, */*;q=0.5',
    'accept-encoding': CAN_READ_ZSTD ? 'gzip, deflate, br, zstd' : 'gzip, deflate, br',
  };
  if (request.etag !== '') headers['if-none-match'] = request.etag;
  if (request.lastModified !== '') headers['if-modified-since'] = request.lastModified;
  const send = url.protocol === 'https:' ? https.get : http.get;
  return new Promise((resolve, reject) => {
    // agent false: a connection of its own, closed with the answer.
    send(url, { headers, agent: false, ...connection }, resolve).on('error', reject);
  });
}

/** Writes the decoded body to the target and syncs it. */
async function receive(
  response: IncomingMessage,
  { target, makeRoom }: DownloadRequest,
  signal: AbortSignal,
): Promise<Omit<Fetched, 'isFromPublic'>> {
  const { headers } = response;
  const make = decoderFor(response);
  refuseHeaders(response);
  try {
    await makeRoom?.(Number(headers['content-length'] ?? 0) || 0);
  } catch (error) {
    response.destroy();
    throw error;
  }
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(target, 'w', 0o600);
  const write = async (body: AsyncIterable<Buffer>): Promise<void> => {
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > LIMITS.listBytesMax) throw tooLarge();
      hash.update(chunk);
      await file.writeFile(chunk);
    }
  };
  try {
    if (make) await pipeline(response, (body) => decode(body, make), write, { signal });
    else await pipeline(response, write, { signal });
    await file.sync();
  } finally {
    response.destroy();
    await file.close();
  }
  const unpacked = await unpackFile(target, tooLarge);
  return {
    ...(unpacked ?? { bytes, sha256: hash.digest('hex') }),
    etag: validator(headers.etag),
    lastModified: validator(headers['last-modified']),
  };
}

function refuseHeaders(response: IncomingMessage): void {
  const type = response.headers['content-type'] ?? '';
  const declared = Number(response.headers['content-length'] ?? 0);
  if (!WRONG_TYPES.test(type) && !(declared > LIMITS.listBytesMax)) return;
  response.destroy();
  if (declared > LIMITS.listBytesMax) throw tooLarge();
  throw new AppError('LIST_REJECTED', `it is of type ${type.slice(0, 60)}, not a list`);
}

function decoderFor(response: IncomingMessage): (() => Decoder) | null {
  const encoding = (response.headers['content-encoding'] ?? 'identity').trim().toLowerCase();
  if (encoding === 'identity' || encoding === '') return null;
  if (encoding === 'gzip' || encoding === 'x-gzip') return createGunzip;
  if (encoding === 'deflate') return createInflate;
  if (encoding === 'br') return createBrotliDecompress;
  if (encoding === 'zstd') return createZstdDecoder;
  response.destroy();
  throw new AppError('LIST_REJECTED', `it is encoded as "${encoding.slice(0, 40)}"`);
}

function validator(header: string | undefined): string {
  return header !== undefined && header.length <= VALIDATOR_CHARS_MAX ? header : '';
}

function tooLarge(): AppError {
  return new AppError('LIST_REJECTED', `it is larger than ${inMiB(LIMITS.listBytesMax)}`);
}

/** Names the way in which a download failed. */
function asAppError(
  error: unknown,
  signal: AbortSignal,
  request: DownloadRequest,
  timeMs: number,
): AppError {
  if (error instanceof AppError) return error;
  if (signal.aborted) {
    const why = request.signal.aborted
      ? 'stopped'
      : `not complete after ${String(timeMs / 1000)} s`;
    return new AppError('LIST_UNREACHABLE', `download ${why}`, error);
  }
  const text = failureText(error);
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (code === 'ERR_STREAM_PREMATURE_CLOSE' || code === 'Z_BUF_ERROR' || text === 'aborted') {
    return new AppError('LIST_REJECTED', 'it is truncated: the transfer ended early', error);
  }
  if (isDecoderError(code)) {
    return new AppError('LIST_REJECTED', `its compression is damaged: ${text}`, error);
  }
  return new AppError('LIST_UNREACHABLE', `download failed: ${text}`, error);
}

/** Several addresses tried in vain make an AggregateError, whose own message is empty. */
function failureText(error: unknown): string {
  const first = error instanceof AggregateError ? (error.errors[0] as unknown) : error;
  return first instanceof Error ? first.message : String(first);
}
