/**
 * How the command line talks to the running instance: HTTP over the socket in the data folder, which
 * needs no token; where there is none, over the address in run.json with the token of the folder.
 */
import { request, type ClientRequestArgs, type IncomingMessage } from 'node:http';
import { connect as connectSocket, isIP } from 'node:net';
import type { Readable } from 'node:stream';
import { AppError, ERROR_CODES, fromWire, type WireError } from '../../contract/errors.ts';
import type { UploadReceipt } from '../../contract/methods/import.ts';
import type { LiveUpdate } from '../../contract/methods/methods.ts';
import { readToken } from '../http/access-token.ts';
import { controlSocketPath, type SocketPath } from '../http/control-socket.ts';
import { findRunning, type RunInfo } from '../run-file.ts';

/** Time for one call; a list refresh is the longest. */
const CALL_MS = 120_000;

/** @throws AppError NOT_RUNNING, one clear line; NOT_ALLOWED for somebody else's data folder */
export async function connect(dataDirectory: string): Promise<CliClient> {
  const running = await requireRunning(dataDirectory);
  const socket = await reachableSocket(dataDirectory);
  if (socket) return new CliClient({ name: socket.path, socket });
  if (running.http === null) throw withoutDoor(running);
  const { host, port } = reachableAddress(running.http);
  return new CliClient({
    name: authority(host, port),
    ...{ host, port },
    token: await readToken(dataDirectory),
  });
}

/**
 * Link that opens the window with the right to use it; the token never reaches a server log.
 *
 * @throws AppError NOT_RUNNING
 */
export async function windowLink(dataDirectory: string): Promise<string> {
  const running = await requireRunning(dataDirectory);
  if (running.http === null) throw withoutDoor(running);
  const { host, port } = reachableAddress(running.http);
  return `http://${authority(host, port)}/#token=${await readToken(dataDirectory)}`;
}

async function requireRunning(dataDirectory: string): Promise<RunInfo> {
  const running = await findRunning(dataDirectory);
  if (running) return running;
  throw new AppError(
    'NOT_RUNNING',
    `Sluice is not running on the data folder ${dataDirectory}; start it with "sluice run"`,
  );
}

function withoutDoor({ pid }: RunInfo): AppError {
  return new AppError(
    'NOT_RUNNING',
    `Sluice (process ${String(pid)}) is starting or has no HTTP door; try again`,
  );
}

/** Where the instance is, and how to get in. */
type Way =
  | { readonly name: string; readonly socket: SocketPath }
  | {
      readonly name: string;
      readonly host: string;
      readonly port: number;
      readonly token: string;
    };

export class CliClient {
  readonly #way: Way;

  constructor(way: Way) {
    this.#way = way;
  }

  /** Calls any method. @throws AppError as the service does; NOT_RUNNING when nobody answers */
  async call(name: string, input: unknown): Promise<unknown> {
    const body = JSON.stringify(input ?? {});
    const path = `/api/${encodeURIComponent(name)}`;
    return valueOf(await this.#send({ method: 'POST', path, body }));
  }

  /** Sends a file to be used by a method. @throws as `call`, and what reading the file throws */
  async upload(file: Readable): Promise<UploadReceipt> {
    const path = '/api/uploads';
    return (await valueOf(await this.#send({ method: 'POST', path, body: file }))) as UploadReceipt;
  }

  /** Calls `onUpdate` with each live update; resolves when the instance ends the stream. */
  async live(onUpdate: (update: LiveUpdate) => void): Promise<void> {
    const response = await this.#send({ method: 'GET', path: '/api/live', body: null });
    if (response.statusCode !== 200) await valueOf(response);
    let text = '';
    response.setEncoding('utf8');
    for await (const part of untilReset(response)) {
      text += part;
      const messages = text.split('\n\n');
      text = messages.pop() ?? '';
      for (const message of messages) {
        if (message.startsWith('data: ')) onUpdate(JSON.parse(message.slice(6)) as LiveUpdate);
      }
    }
  }

  #send({ method, path, body }: Message): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request({
        ...{ method, path, agent: false, headers: headersOf(this.#way, body) },
        ...placeOf(this.#way),
        ...(body !== null && { timeout: CALL_MS }),
      });
      sent.on('response', resolve);
      sent.on('timeout', () => {
        sent.destroy(new Error('no answer in time'));
      });
      sent.on('error', (error) => {
        const text = `no answer from ${this.#way.name}: ${error.message}`;
        reject(new AppError('NOT_RUNNING', text, error));
      });
      if (body === null || typeof body === 'string') {
        sent.end(body ?? undefined);
        return;
      }
      body.on('error', (error) => {
        reject(error);
        sent.destroy();
      });
      body.pipe(sent);
    });
  }
}

interface Message {
  readonly method: string;
  readonly path: string;
  /** JSON, a file, or nothing. */
  readonly body: string | Readable | null;
}

function headersOf(way: Way, body: Message['body']): NodeJS.Dict<string | number> {
  return {
    host: 'socket' in way ? 'localhost' : authority(way.host, way.port),
    ...(!('socket' in way) && { authorization: `Bearer ${way.token}` }),
    ...(typeof body === 'string' && {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    }),
  };
}

function placeOf(way: Way): Pick<ClientRequestArgs, 'socketPath' | 'host' | 'port'> {
  return 'socket' in way ? { socketPath: way.socket.path } : { host: way.host, port: way.port };
}

/** The socket of the data folder, when somebody listens there. */
async function reachableSocket(dataDirectory: string): Promise<SocketPath | null> {
  const socket = controlSocketPath(dataDirectory);
  if (socket === null) return null;
  const isReachable = await new Promise<boolean>((resolve) => {
    const probe = connectSocket(socket.path);
    probe.on('connect', () => {
      probe.destroy();
      resolve(true);
    });
    probe.on('error', () => {
      resolve(false);
    });
  });
  if (isReachable) return socket;
  socket.release();
  return null;
}

/** The address to connect to; the loopback one when the door listens on all. */
function reachableAddress(http: string): { readonly host: string; readonly port: number } {
  const colon = http.lastIndexOf(':');
  const host = http.slice(0, colon).replace(/^\[|\]$/g, '');
  return {
    host: host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host,
    port: Number(http.slice(colon + 1)),
  };
}

function authority(host: string, port: number): string {
  return `${isIP(host) === 6 ? `[${host}]` : host}:${String(port)}`;
}

/** What comes of a stream; an instance that stops ends it by closing the connection. */
async function* untilReset(response: IncomingMessage): AsyncGenerator<string> {
  try {
    for await (const part of response as AsyncIterable<string>) yield part;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
  }
}

/** The value of an answer. @throws AppError as the service did */
async function valueOf(response: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of response as AsyncIterable<Buffer>) parts.push(part);
  const value = parsed(Buffer.concat(parts).toString('utf8'));
  if (response.statusCode === 200) return value;
  throw fromWire(wireErrorOf(value, response.statusCode ?? 0));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    // Not ours; wireErrorOf says so with the status.
    return null;
  }
}

function wireErrorOf(value: unknown, status: number): WireError {
  const error =
    typeof value === 'object' && value !== null && 'error' in value ? value.error : undefined;
  const { code, message } = (error ?? {}) as Partial<WireError>;
  if (code !== undefined && Object.hasOwn(ERROR_CODES, code) && typeof message === 'string') {
    return { code, message };
  }
  return { code: 'INTERNAL', message: `the HTTP door answered with status ${String(status)}` };
}
