/**
 * Reads the input of one HTTP call: the JSON body of a POST, bounded, the query of a GET, or a file.
 */
import type { IncomingMessage } from 'node:http';
import type { WireError } from '../../contract/errors.ts';
import type { UploadReceipt } from '../../contract/methods/import.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { Uploads } from '../../control/methods/uploads.ts';

/** A body whose next piece does not come for so long ends its connection. */
const PIECE_MS = 30_000;

/** What was read, or why it is not taken. */
export type Input =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly status: 400 | 413 | 415; readonly error: WireError };

/** An empty body is an empty object. Never reads more than LIMITS.httpBodyBytesMax. */
export async function readJsonBody(request: IncomingMessage): Promise<Input> {
  const type = request.headers['content-type'] ?? '';
  const announced = Number(request.headers['content-length'] ?? 0);
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    return refused(415, 'the body must be JSON, sent with "Content-Type: application/json"');
  }
  if (announced > LIMITS.httpBodyBytesMax) return tooLong();
  const parts: Buffer[] = [];
  let length = 0;
  for await (const part of piecesOf(request)) {
    length += part.length;
    if (length > LIMITS.httpBodyBytesMax) return tooLong();
    parts.push(part);
  }
  const text = Buffer.concat(parts).toString('utf8');
  if (text.trim() === '') return { ok: true, value: {} };
  try {
    return objectOnly(JSON.parse(text) as unknown);
  } catch {
    return refused(400, 'the body is not valid JSON');
  }
}

/** Every parameter is a text, given once; the method's schema makes numbers of them. */
export function readQuery(query: URLSearchParams): Input {
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [key, value] of query) {
    if (key in values) return refused(400, `${key.slice(0, 64)}: given twice`);
    values[key] = value;
  }
  return { ok: true, value: { ...values } };
}

/**
 * Takes a whole body as an upload. One that ends early leaves nothing.
 *
 * @throws AppError as Uploads.append does; the system's error when the client goes
 */
export async function readUpload(
  request: IncomingMessage,
  uploads: Pick<Uploads, 'append' | 'drop'>,
): Promise<UploadReceipt> {
  let receipt = await uploads.append(null, Buffer.alloc(0));
  try {
    for await (const piece of piecesOf(request)) receipt = await uploads.append(receipt.id, piece);
    return receipt;
  } catch (error) {
    await uploads.drop(receipt.id);
    throw error;
  }
}

/** What comes of a body, as it comes. @throws the system's error when the client goes or is silent */
async function* piecesOf(request: IncomingMessage): AsyncGenerator<Buffer> {
  const silent = setTimeout(() => request.destroy(), PIECE_MS);
  try {
    // An answer is still to be sent when the rest is not read.
    const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
    for await (const piece of pieces) {
      silent.refresh();
      yield piece;
    }
  } finally {
    clearTimeout(silent);
  }
}

function objectOnly(value: unknown): Input {
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
    return { ok: true, value };
  }
  return refused(400, 'the body must be a JSON object');
}

function tooLong(): Input {
  return refused(413, `the body is longer than ${String(LIMITS.httpBodyBytesMax)} bytes`);
}

function refused(status: 400 | 413 | 415, message: string): Input {
  return { ok: false, status, error: { code: 'ARGUMENT_INVALID', message } };
}
