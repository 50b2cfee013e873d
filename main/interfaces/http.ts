/**
 * The HTTP door: the method table under /api/, live updates, health, metrics and the window.
 *
 *     GET  /health                 whether the program is well; open to everybody who can connect
 *     GET  /metrics                figures for Prometheus; open likewise
 *     GET  /api/<method>           methods that only read; input as query parameters
 *     POST /api/<method>           all methods; input as JSON
 *     GET  /api/live               server-sent events
 *     GET  /api/openapi.json       this door, described
 *     GET  /…                      the window
 *
 * Runs in the main thread, loaded by http-door.ts for the first client. Who may come in is decided
 * in http-guard.ts before anything else.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { toWire } from '../contract/errors.ts';
import { METHODS } from '../contract/methods.ts';
import type { QueueStatus, ServiceClient } from '../contract/methods.ts';
import type { HealthReport } from '../service/health.ts';
import type { Measurements } from '../service/reports.ts';
import { dispatch, methodNamed, type Caller } from './dispatch.ts';
import { readJsonBody, readQuery } from './http-body.ts';
import { refuseForeign, TokenGuard } from './http-guard.ts';
import { streamLive } from './http-live.ts';
import { createPageHandler } from './http-page.ts';
import { send, sendError, sendJson } from './http-reply.ts';
import { METRICS_TYPE, metricsText } from './metrics.ts';

/** What the door needs of the service. */
export interface HttpService extends ServiceClient {
  health(): HealthReport;
  measurements(): Measurements;
  addQueue(read: () => QueueStatus): void;
  setProblem(name: string, sentence: string | null): void;
}

export interface HttpDoorOptions {
  readonly service: HttpService;
  readonly address: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly token: string;
  readonly version: string;
  /** Folder of the built window. */
  readonly pageFolder: string;
}

/** Whoever got past the guard is the owner of this instance. */
const OWNER: Caller = { permission: 'write' };

/** Times for a slow or silent client. Source: node:http, "server.requestTimeout". */
const HEADERS_TIMEOUT_MS = 5_000;
const REQUEST_TIMEOUT_MS = 30_000;

/** A server that does not listen itself: http-door.ts hands it its connections. */
export function createHttpServer(options: HttpDoorOptions): Server {
  const door = new Routes(options);
  const times = { headersTimeout: HEADERS_TIMEOUT_MS, requestTimeout: REQUEST_TIMEOUT_MS };
  const server = createServer(times, (request, response) => {
    door.handle(request, response).catch((error: unknown) => {
      sendError(response, toWire(error));
    });
  });
  // Without this event node:http would not look for clients that exceed those times.
  server.emit('listening');
  return server;
}

class Routes {
  readonly #options: HttpDoorOptions;
  readonly #guard: TokenGuard;
  readonly #page: ReturnType<typeof createPageHandler>;

  constructor(options: HttpDoorOptions) {
    this.#options = options;
    this.#guard = new TokenGuard(options.token);
    this.#page = createPageHandler(options.pageFolder);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const foreign = refuseForeign(request);
    if (foreign) {
      sendError(response, { code: 'NOT_ALLOWED', message: foreign.message }, foreign.status);
      return;
    }
    const url = URL.canParse(request.url ?? '', 'http://localhost')
      ? new URL(request.url ?? '', 'http://localhost')
      : null;
    if (!url) sendError(response, { code: 'ARGUMENT_INVALID', message: 'the URL is not valid' });
    else if (url.pathname.startsWith('/api/')) await this.#api(request, response, url);
    else if (request.method !== 'GET' && request.method !== 'HEAD') refuseVerb(response, 'GET');
    else await this.#open(request, response, url.pathname);
  }

  /** What needs no token. */
  async #open(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const { service } = this.#options;
    if (path === '/health') {
      const { health, degradedReasons, notices } = service.health();
      sendJson(response, 200, { health, degradedReasons, notices });
    } else if (path === '/metrics') {
      send(response, 200, METRICS_TYPE, metricsText(service.measurements()));
    } else {
      await this.#page(request, response);
    }
  }

  async #api(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    const refusal = await this.#guard.refuse(request);
    if (refusal) {
      response.setHeader('www-authenticate', 'Bearer');
      sendError(response, { code: 'NOT_ALLOWED', message: refusal.message }, refusal.status);
      return;
    }
    const name = url.pathname.slice('/api/'.length);
    if (name === 'live' || name === 'openapi.json') {
      if (request.method !== 'GET') refuseVerb(response, 'GET');
      else if (name === 'live') streamLive(response, this.#options.service);
      else await this.#describe(response);
      return;
    }
    await this.#call(request, response, name, url);
  }

  async #call(request: IncomingMessage, response: ServerResponse, name: string, url: URL) {
    const method = methodNamed(name);
    const isRead = METHODS[method].permission === 'read';
    const isGet = request.method === 'GET';
    if (isGet ? !isRead : request.method !== 'POST') {
      refuseVerb(response, isRead ? 'GET, POST' : 'POST');
      return;
    }
    const input = isGet ? readQuery(url) : await readJsonBody(request);
    if (!input.ok) {
      if (input.status === 413) response.setHeader('connection', 'close');
      sendError(response, input.error, input.status);
      return;
    }
    const reply = await dispatch(this.#options.service, OWNER, method, input.value);
    if (reply.ok) sendJson(response, 200, reply.value);
    else sendError(response, reply.error);
  }

  async #describe(response: ServerResponse): Promise<void> {
    const { openApiDocument } = await import('./openapi.ts');
    sendJson(response, 200, openApiDocument(this.#options.version));
  }
}

function refuseVerb(response: ServerResponse, allowed: string): void {
  response.setHeader('allow', allowed);
  const message = `this path takes ${allowed} only`;
  sendError(response, { code: 'ARGUMENT_INVALID', message }, 405);
}
