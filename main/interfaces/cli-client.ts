/**
 * How the command line talks to the running instance: HTTP, found through run.json.
 */
import { request, type IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { AppError, ERROR_CODES, fromWire, type WireError } from '../contract/errors.ts';
import type { LiveUpdate } from '../contract/methods.ts';
import { findRunning, type RunInfo } from './run-file.ts';

/** Time for one call; a list refresh is the longest. */
const CALL_MS = 120_000;

/** @throws AppError NOT_RUNNING, one clear line; NOT_ALLOWED for somebody else's data folder */
export async function connect(dataDirectory: string): Promise<CliClient> {
  const running = await findRunning(dataDirectory);
  if (!running) {
    throw new AppError(
      'NOT_RUNNING',
      `Sluice is not running on the data folder ${dataDirectory}; start it with "sluice run"`,
    );
  }
  if (running.http === null) {
    const pid = String(running.pid);
    throw new AppError(
      'NOT_RUNNING',
      `Sluice (process ${pid}) is starting or has no HTTP door; try again`,
    );
  }
  return new CliClient(running, running.http);
}

export class CliClient {
  readonly info: RunInfo;
  /** The address to connect to; the loopback one when the door listens on all. */
  readonly #host: string;
  readonly #port: number;

  constructor(info: RunInfo, http: string) {
    this.info = info;
    const colon = http.lastIndexOf(':');
    const host = http.slice(0, colon).replace(/^\[|\]$/g, '');
    this.#host = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
    this.#port = Number(http.slice(colon + 1));
  }

  /** Link that opens the window with the right to use it; the token never reaches a server log. */
  get link(): string {
    return `http://${this.#authority}/#token=${this.info.token}`;
  }

  /** Calls any method. @throws AppError as the service does; NOT_RUNNING when nobody answers */
  async call(name: string, input: unknown): Promise<unknown> {
    const body = JSON.stringify(input ?? {});
    const response = await this.#send('POST', `/api/${encodeURIComponent(name)}`, body);
    const parts: Buffer[] = [];
    for await (const part of response as AsyncIterable<Buffer>) parts.push(part);
    const value = parsed(Buffer.concat(parts).toString('utf8'));
    if (response.statusCode === 200) return value;
    throw fromWire(wireErrorOf(value, response.statusCode ?? 0));
  }

  /** Calls `onUpdate` with each live update; resolves when the instance ends the stream. */
  async live(onUpdate: (update: LiveUpdate) => void): Promise<void> {
    const response = await this.#send('GET', '/api/live', null);
    if (response.statusCode !== 200) {
      const parts: Buffer[] = [];
      for await (const part of response as AsyncIterable<Buffer>) parts.push(part);
      const value = parsed(Buffer.concat(parts).toString('utf8'));
      throw fromWire(wireErrorOf(value, response.statusCode ?? 0));
    }
    let text = '';
    response.setEncoding('utf8');
    for await (const part of response as AsyncIterable<string>) {
      text += part;
      const messages = text.split('\n\n');
      text = messages.pop() ?? '';
      for (const message of messages) {
        if (message.startsWith('data: ')) onUpdate(JSON.parse(message.slice(6)) as LiveUpdate);
      }
    }
  }

  get #authority(): string {
    const host = isIP(this.#host) === 6 ? `[${this.#host}]` : this.#host;
    return `${host}:${String(this.#port)}`;
  }

  #send(method: string, path: string, body: string | null): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const sent = request({
        ...{ host: this.#host, port: this.#port, method, path, agent: false },
        headers: {
          host: this.#authority,
          authorization: `Bearer ${this.info.token}`,
          ...(body !== null && {
            'content-type': 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
        ...(body !== null && { timeout: CALL_MS }),
      });
      sent.on('response', resolve);
      sent.on('timeout', () => {
        sent.destroy(new Error('no answer in time'));
      });
      sent.on('error', (error) => {
        const text = `no answer from ${this.#authority}: ${error.message}`;
        reject(new AppError('NOT_RUNNING', text, error));
      });
      sent.end(body ?? undefined);
    });
  }
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
