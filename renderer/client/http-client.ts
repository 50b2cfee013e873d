/**
 * The service over HTTP: POST /api/<method> for calls, POST /api/uploads for files, one event stream
 * for live updates.
 */
import type {
  LiveUpdate,
  MethodInput,
  MethodName,
  MethodOutput,
} from '../../main/contract/methods/methods.ts';
import { t } from '../text.ts';
import { CallError, isWireError } from './call-error.ts';
import type { ConnectionSink, WindowClient } from './client.ts';
import { openLiveStream } from './live-stream.ts';
import { isReceipt } from './upload.ts';

/** Longest wait for an ordinary answer. */
const callTimeoutMs = 15_000;
/** These answer when a download or a compilation has ended, which may take as long as its limit. */
const slowTimeoutMs = 90_000;
/** A large file over a slow link. */
const uploadTimeoutMs = 10 * 60_000;
const slowMethods: ReadonlySet<MethodName> = new Set([
  ...(['lists.refresh', 'lists.accept', 'lists.rollback'] as const),
  ...(['import.preview', 'import.apply', 'settings.import'] as const),
]);

/** @param token  sent as a bearer token; '' for none */
export function createHttpClient(token: string, connection: ConnectionSink): WindowClient {
  const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };

  async function call<Name extends MethodName>(
    name: Name,
    input: MethodInput<Name>,
  ): Promise<MethodOutput<Name>> {
    const timeoutMs = slowMethods.has(name) ? slowTimeoutMs : callTimeoutMs;
    const sent = { type: 'application/json', content: JSON.stringify(input), timeoutMs };
    return (await post(name, sent)) as MethodOutput<Name>;
  }

  async function upload(file: File): Promise<string> {
    const type = 'application/octet-stream';
    const receipt = await post('uploads', { type, content: file, timeoutMs: uploadTimeoutMs });
    if (isReceipt(receipt)) return receipt.id;
    throw new CallError('INTERNAL', t().errors.noUploadId);
  }

  async function post(path: string, message: Message): Promise<unknown> {
    const response = await send(path, message, headers, connection);
    connection.answered();
    const body = await readJson(response);
    if (response.ok) return body;
    if (response.status === 401) connection.refused();
    throw toCallError(body, response.status);
  }

  return {
    call,
    upload,
    subscribe: (onUpdate: (update: LiveUpdate) => void) =>
      openLiveStream({ url: './api/live', headers, connection, onUpdate }),
  };
}

interface Message {
  readonly type: string;
  readonly content: string | Blob;
  readonly timeoutMs: number;
}

async function send(
  path: string,
  { type, content, timeoutMs }: Message,
  headers: Record<string, string>,
  connection: ConnectionSink,
): Promise<Response> {
  try {
    return await fetch(`./api/${path}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': type },
      body: content,
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch {
    connection.failed();
    throw new CallError('DISCONNECTED', t().errors.noAnswer);
  }
}

/** The body as JSON; null when it is something else. */
async function readJson(response: Response): Promise<unknown> {
  try {
    return await response.json();
  } catch {
    return null;
  }
}

/** Accepts the error as the whole body or under `error`. */
function toCallError(body: unknown, status: number): CallError {
  const inner = typeof body === 'object' && body !== null && 'error' in body ? body.error : body;
  if (isWireError(inner)) return new CallError(inner.code, inner.message);
  return new CallError('INTERNAL', t().errors.httpStatus(status));
}
