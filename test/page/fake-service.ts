/**
 * A stand-in for the service: the same HTTP API with made-up data, serving the built window under
 * the strict policy. Tests start it; `node test/page/fake-service.ts` runs it for looking at.
 */
import { createReadStream } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join, normalize } from 'node:path';
import { setInterval } from 'node:timers';
import { fileURLToPath } from 'node:url';
import type { LiveUpdate } from '../../main/contract/methods/methods.ts';
import { FakeMethods } from './fake-methods.ts';
import { FakeRefusal, type MethodArguments } from './fake-refusal.ts';
import { fakeQuery, fakeUpdate } from './fake-data.ts';

const contentTypes: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

export interface FakeServiceOptions {
  /** The built window. */
  readonly directory: string;
  readonly port?: number;
  /** Wanted from every call; '' for none. */
  readonly token?: string;
}

export class FakeService {
  readonly methods = new FakeMethods();
  readonly #options: FakeServiceOptions;
  readonly #server: Server;
  readonly #streams = new Set<ServerResponse>();
  /** Every call with its input, oldest first. */
  readonly calls: { name: string; input: unknown }[] = [];

  private constructor(options: FakeServiceOptions) {
    this.#options = options;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        response.writeHead(500).end(String(error));
      });
    });
  }

  static async start(options: FakeServiceOptions): Promise<FakeService> {
    const service = new FakeService(options);
    await service.listen(options.port ?? 0);
    return service;
  }

  /** Binds the port; used again with the same port to come back after `close`. */
  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  get url(): string {
    return `http://127.0.0.1:${String(this.port)}/`;
  }

  /** Windows that follow the live topic now. */
  get subscribers(): number {
    return this.#streams.size;
  }

  emit(update: LiveUpdate): void {
    for (const stream of this.#streams) stream.write(`data: ${JSON.stringify(update)}\n\n`);
  }

  callsOf(name: string): unknown[] {
    return this.calls.filter((call) => call.name === name).map((call) => call.input);
  }

  async close(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#server.close(() => {
        resolve();
      });
      this.#server.closeAllConnections();
    });
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? '/', 'http://fake').pathname;
    if (!path.startsWith('/api/')) {
      this.#serveFile(path, response);
    } else if (!this.#isAllowed(request)) {
      const error = { code: 'NOT_ALLOWED', message: 'the token is missing or wrong' };
      this.#json(response, 401, { error });
    } else if (path === '/api/live') {
      this.#openStream(response);
    } else {
      await this.#call(path.slice('/api/'.length), request, response);
    }
  }

  #isAllowed(request: IncomingMessage): boolean {
    const token = this.#options.token ?? '';
    return token === '' || request.headers.authorization === `Bearer ${token}`;
  }

  #openStream(response: ServerResponse): void {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    response.write(': hello\n\n');
    this.#streams.add(response);
    response.on('close', () => this.#streams.delete(response));
  }

  async #call(name: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    let text = '';
    for await (const chunk of request) text += String(chunk);
    if (name === 'uploads') {
      this.#json(response, 200, this.methods.upload(text));
      return;
    }
    const input = JSON.parse(text === '' ? '{}' : text) as MethodArguments;
    this.calls.push({ name, input });
    try {
      this.#json(response, 200, await this.methods.call(name, input));
    } catch (error) {
      if (!(error instanceof FakeRefusal)) throw error;
      this.#json(response, 400, { error: { code: error.code, message: error.message } });
    }
  }

  #json(response: ServerResponse, status: number, body: unknown): void {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  }

  #serveFile(path: string, response: ServerResponse): void {
    const file = join(this.#options.directory, normalize(path === '/' ? '/index.html' : path));
    const stream = createReadStream(file);
    stream.on('error', () => response.writeHead(404).end());
    stream.on('open', () => {
      response.writeHead(200, {
        'content-type': contentTypes[extname(file)] ?? 'application/octet-stream',
        'content-security-policy': "default-src 'self'; form-action 'none'; base-uri 'none'",
      });
      stream.pipe(response);
    });
  }
}

/** Sends some queries four times a second, for looking at the window by hand. */
function playAlong(service: FakeService): void {
  let n = 0;
  setInterval(() => {
    const nowMs = Date.now();
    const count = Math.floor(Math.random() * 4);
    const rows = Array.from({ length: count }, () => fakeQuery(n++, nowMs));
    const { status } = service.methods;
    status.totals.queries += count;
    status.totals.blocked += rows.filter((row) => row.outcome === 'blocked').length;
    service.emit(fakeUpdate(status, rows, 0, nowMs));
  }, 250);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const directory = fileURLToPath(new URL('../../dist/renderer', import.meta.url));
  const service = await FakeService.start({ directory, port: Number(process.argv[2] ?? 8053) });
  playAlong(service);
  process.stdout.write(`${service.url}\n`);
}
