/**
 * The service over HTTP: POST /api/<method> for calls, one event stream for live updates.
 */
import type {
  LiveUpdate,
  MethodInput,
  MethodName,
  MethodOutput,
  ServiceClient,
} from '../../main/contract/methods.ts';
import { CallError, isWireError } from './call-error.ts';
import type { ConnectionSink } from './client.ts';
import { openLiveStream } from './live-stream.ts';

/** Longest wait for an ordinary answer. */
const callTimeoutMs = 15_000;
/** These answer when a download or a compilation has ended, which may take as long as its limit. */
const slowTimeoutMs = 90_000;
const slowMethods: ReadonlySet<MethodName> = new Set([
  ...(['lists.refresh', 'lists.accept', 'lists.rollback'] as const),
  ...(['import.preview', 'import.apply', 'settings.import'] as const),
]);

/** @param token  sent as a bearer token; '' for none */
export function createHttpClient(token: string, connection: ConnectionSink): ServiceClient {
  const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };

  async function call<Name extends MethodName>(
    name: Name,
    input: MethodInput<Name>,
  ): Promise<MethodOutput<Name>> {
    const response = await post(name, input, headers, connection);
    connection.answered();
    const body = await readJson(response);
    if (response.ok) return body as MethodOutput<Name>;
    if (response.status === 401) connection.refused();
    throw toCallError(body, response.status);
  }

  return {
    call,
    subscribe: (onUpdate: (update: LiveUpdate) => void) =>
      openLiveStream({ url: './api/live', headers, connection, onUpdate }),
  };
}

async function post(
  name: MethodName,
  input: unknown,
  headers: Record<string, string>,
  connection: ConnectionSink,
): Promise<Response> {
  const timeoutMs = slowMethods.has(name) ? slowTimeoutMs : callTimeoutMs;
  try {
    return await fetch(`./api/${name}`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify(input),
      signal: AbortSignal.timeout(timeoutMs),
    });
  } catch {
    connection.failed();
    throw new CallError('DISCONNECTED', 'Sluice does not answer');
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
  return new CallError('INTERNAL', `the service answered with HTTP status ${String(status)}`);
}
