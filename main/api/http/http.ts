/**
 * The HTTP door: the method table under /api/, live updates, health, metrics and the window.
 *
 *     GET  /health                 whether the program is well; open to everybody who can connect
 *     GET  /metrics                figures for Prometheus; open likewise
 *     GET  /api/<method>           methods that only read; input as query parameters
 *     POST /api/<method>           all methods; input as JSON
 *     POST /api/uploads            a file, as it is; its id goes into a method's `upload`
 *     GET  /api/live               server-sent events
 *     GET  /api/openapi.json       this door, described
 *     GET  /…                      the window
 *
 * Runs in the main thread, loaded by http-door.ts for the first client. Who may come in is decided
 * in http-guard.ts before anything else; the socket in the data folder lets in its owner only.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { toWire } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import {
  METHODS,
  type Caller,
  type QueueStatus,
  type ServiceClient,
} from '../../contract/methods/methods.ts';
import type { HealthReport } from '../../control/process/health.ts';
import type { Measurements } from '../../control/reports/reports.ts';
import type { Uploads } from '../../control/methods/uploads.ts';
import { dispatch, methodNamed, type Callee } from '../dispatch.ts';
import { readJsonBody, readQuery, readUpload } from './body.ts';
import { OwnNames, refuseForeign, TokenGuard } from './guard.ts';
import { streamLive } from './live.ts';
import { Page } from './page.ts';
import { send, sendError, sendJson } from './reply.ts';
import { methodOf, parseTarget, type Target } from './target.ts';
import { METRICS_TYPE, metricsText } from './metrics.ts';

/** What the door needs of the service. */
export interface HttpService extends Callee, Pick<ServiceClient, 'subscribe'> {
  readonly uploads: Pick<Uploads, 'append' | 'drop'>;
  health(): HealthReport;
  measurements(): Measurements;
  addQueue(read: () => QueueStatus): void;
  setProblem(name: string, sentence: string | null): void;
}

export interface HttpDoorOptions {
  readonly service: HttpService;
  /** Who may come in; null for a socket that only its owner can connect to. */
  readonly access: HttpAccess | null;
  readonly version: string;
  /** Folder of the built window. */
  readonly pageFolder: string;
}

export interface HttpAccess {
  readonly token: () => string;
  /** Names besides the machine's own under which it is reached. */
  readonly hosts: () => readonly string[];
}

/** Time for the head of a request, and how often it is looked for late ones. */
const HEADERS_TIMEOUT_MS = 5_000;

/**
 * A server that does not listen itself: http-door.ts hands it its connections.
 *
 * @param onAllowed  called with the connection of a request that the guard has let in
 */
export function createHttpServer(
  options: HttpDoorOptions,
  onAllowed: (socket: Socket) => void,
): Server {
  const routes = new Routes(options, onAllowed);
  const lines = new WeakMap<Socket, RequestLine>();
  const times = {
    headersTimeout: HEADERS_TIMEOUT_MS,
    connectionsCheckingInterval: HEADERS_TIMEOUT_MS,
    // Bodies have a bound of their own (http-body.ts): a large file takes its time.
    requestTimeout: 0,
  };
  const server = createServer(times, (request, response) => {
    const { socket } = request;
    let line = lines.get(socket);
    if (!line) lines.set(socket, (line = new RequestLine()));
    line.add(request, response, () => answer(routes, request, response));
  });
  // Without this event node:http would not look for clients that exceed those times.
  server.emit('listening');
  return server;
}

/** Never rejects. */
async function answer(
  routes: Routes,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  try {
    await routes.handle(request, response);
  } catch (error) {
    // A body that was not read to its end would be taken for the next request.
    if (!request.complete) response.setHeader('connection', 'close');
    sendError(response, toWire(error));
  }
}

/**
 * The requests of one connection, answered one at a time. node:http hands out all that a client has
 * sent at once (pipelining, RFC 9112 §9.3.2); those beyond a bound are not answered, and the
 * connection ends behind the last one that is.
 */
class RequestLine {
  #tail: Promise<void> = Promise.resolve();
  #waiting = 0;
  #isFull = false;

  add(request: IncomingMessage, response: ServerResponse, work: () => Promise<void>): void {
    if (this.#isFull) return;
    this.#waiting++;
    if (this.#waiting >= LIMITS.httpPipelineMax) {
      this.#isFull = true;
      response.shouldKeepAlive = false;
    }
    this.#tail = this.#tail.then(() => this.#run(request, response, work));
  }

  async #run(
    { socket }: IncomingMessage,
    response: ServerResponse,
    work: () => Promise<void>,
  ): Promise<void> {
    if (!socket.destroyed) {
      const done = new Promise<void>((resolve) => {
        response.once('close', resolve);
      });
      await work();
      await done;
    }
    this.#waiting--;
  }
}

class Routes {
  readonly #options: HttpDoorOptions;
  readonly #onAllowed: (socket: Socket) => void;
  readonly #caller: Caller;
  readonly #guard: TokenGuard | null;
  readonly #names: OwnNames;
  readonly #page: Page;

  constructor(options: HttpDoorOptions, onAllowed: (socket: Socket) => void) {
    const { access } = options;
    this.#options = options;
    this.#onAllowed = onAllowed;
    this.#caller = { permission: 'write', isLocal: access === null };
    this.#guard = access && new TokenGuard(access.token);
    this.#names = new OwnNames(access?.hosts ?? (() => []));
    this.#page = new Page(options.pageFolder);
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = parseTarget(request.url ?? '');
    if (!target) {
      response.setHeader('connection', 'close');
      sendError(response, { code: 'ARGUMENT_INVALID', message: 'the path is not served' }, 400);
      return;
    }
    if (this.#isRefused(request, response, target)) return;
    if (target.isApi) await this.#api(request, response, target);
    else if (request.method !== 'GET' && request.method !== 'HEAD') refuseVerb(response, 'GET');
    else await this.#open(request, response, target.path);
  }

  /** Answers a request that may not come in. */
  #isRefused(request: IncomingMessage, response: ServerResponse, target: Target): boolean {
    if (this.#guard === null) return false;
    const foreign = refuseForeign(request, target, this.#names);
    const refusal = foreign ?? (target.isApi ? this.#guard.refuse(request) : null);
    if (!refusal) {
      if (target.isApi) this.#onAllowed(request.socket);
      return false;
    }
    if (refusal.status === 401) response.setHeader('www-authenticate', 'Bearer');
    // Its body is not read.
    response.setHeader('connection', 'close');
    sendError(response, { code: 'NOT_ALLOWED', message: refusal.message }, refusal.status);
    return true;
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
      await this.#page.serve(request, response, path);
    }
  }

  async #api(request: IncomingMessage, response: ServerResponse, target: Target): Promise<void> {
    const name = methodOf(target);
    if (name === 'live' || name === 'openapi.json') {
      if (request.method !== 'GET') refuseVerb(response, 'GET');
      else if (name === 'live') streamLive(response, this.#options.service);
      else await this.#describe(response);
    } else if (name === 'uploads') {
      if (request.method !== 'POST') refuseVerb(response, 'POST');
      else sendJson(response, 200, await readUpload(request, this.#options.service.uploads));
    } else {
      await this.#call(request, response, target);
    }
  }

  async #call(request: IncomingMessage, response: ServerResponse, target: Target): Promise<void> {
    const method = methodNamed(methodOf(target));
    const isRead = METHODS[method].permission === 'read';
    const isGet = request.method === 'GET';
    if (isGet ? !isRead : request.method !== 'POST') {
      refuseVerb(response, isRead ? 'GET, POST' : 'POST');
      return;
    }
    const input = isGet ? readQuery(target.query) : await readJsonBody(request);
    if (!input.ok) {
      if (!request.complete) response.setHeader('connection', 'close');
      sendError(response, input.error, input.status);
      return;
    }
    const reply = await dispatch(this.#options.service, this.#caller, method, input.value);
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
  response.setHeader('connection', 'close');
  const message = `this path takes ${allowed} only`;
  sendError(response, { code: 'ARGUMENT_INVALID', message }, 405);
}
