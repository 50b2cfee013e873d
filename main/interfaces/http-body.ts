/**
 * Reads the input of one HTTP call: the JSON body of a POST, bounded, or the query of a GET.
 */
import type { IncomingMessage } from 'node:http';
import type { WireError } from '../contract/errors.ts';
import { LIMITS } from '../contract/limits.ts';

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
  for await (const part of request as AsyncIterable<Buffer>) {
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
export function readQuery(url: URL): Input {
  const values: Record<string, string> = Object.create(null) as Record<string, string>;
  for (const [key, value] of url.searchParams) {
    if (key in values) return refused(400, `${key.slice(0, 64)}: given twice`);
    values[key] = value;
  }
  return { ok: true, value: { ...values } };
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
