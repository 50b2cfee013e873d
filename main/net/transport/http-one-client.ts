/**
 * DNS over HTTPS in HTTP/1.1, for servers that offer no HTTP/2: one request at a time on a connection
 * that is kept. Used by upstream-https.ts; node:http is loaded when the first one is opened.
 */
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import {
  ageOf,
  DNS_MESSAGE,
  getPath,
  ResponseBody,
  responseTrouble,
  TOO_LONG,
} from './http-response.ts';
import type { HttpClient, HttpUser } from './http-response.ts';
import { formatEndpoint } from '../server-address.ts';
import type { SecureServer } from '../upstream-address.ts';

/** A connection; its end shows in the socket's `close`. */
export class HttpOneClient<Request extends object> implements HttpClient<Request> {
  readonly capacity = 1;
  readonly #server: SecureServer;
  readonly #user: HttpUser<Request>;
  readonly #socket: TLSSocket;
  readonly #agent: Agent;
  /** Under way. */
  #current: ClientRequest | null = null;
  /** Who waits for its response; null when that was given up. */
  #request: Request | null = null;

  constructor(socket: TLSSocket, server: SecureServer, user: HttpUser<Request>, idleMs: number) {
    const { Agent: AgentClass } = process.getBuiltinModule('node:http');
    this.#server = server;
    this.#user = user;
    this.#socket = socket;
    this.#agent = new AgentClass({ keepAlive: true, maxSockets: 1 });
    this.#agent.createConnection = () => socket;
    socket.setTimeout(idleMs, () => {
      if (this.load === 0) this.close();
    });
  }

  get load(): number {
    return this.#current === null ? 0 : 1;
  }

  request(request: Request, query: Buffer): void {
    const { request: send } = process.getBuiltinModule('node:http');
    const { host, port, path, method } = this.#server;
    const isGet = method === 'GET';
    const sent = send({
      agent: this.#agent,
      method,
      path: isGet ? getPath(path, query) : path,
      headers: {
        host: formatEndpoint(host, port),
        accept: DNS_MESSAGE,
        ...(isGet ? {} : { 'content-type': DNS_MESSAGE, 'content-length': query.length }),
      },
    });
    this.#current = sent;
    this.#request = request;
    sent.on('response', (response) => {
      this.#listen(sent, response);
    });
    sent.on('error', () => this.#socket.destroy()); // its `close` says the rest
    sent.end(isGet ? undefined : query);
  }

  /** The response is still read, since the next one comes behind it. */
  cancel(request: Request): void {
    if (this.#request === request) this.#request = null;
  }

  ping(): boolean {
    return false;
  }

  close(): void {
    this.#request = null;
    this.#agent.destroy();
    this.#socket.destroy();
  }

  #listen(sent: ClientRequest, response: IncomingMessage): void {
    const body = new ResponseBody();
    const { headers, statusCode } = response;
    const trouble = responseTrouble(statusCode, headers['content-type'] ?? '');
    this.#user.heard();
    response.on('data', (chunk: Buffer) => {
      if (trouble === '' && body.add(chunk)) return;
      // What follows is of no use, and might be endless.
      this.#end(trouble === '' ? TOO_LONG : trouble, body, 0);
      this.#socket.destroy();
    });
    response.on('end', () => {
      this.#end(trouble, body, ageOf(headers.age));
    });
    response.on('error', () => undefined); // the socket's `close` follows
    // Only now is the connection free for the next request.
    sent.on('close', () => {
      this.#current = null;
      this.#user.freed();
    });
  }

  #end(trouble: string, body: ResponseBody, ageSeconds: number): void {
    const request = this.#request;
    this.#request = null;
    if (request === null) return;
    if (trouble === '') this.#user.responded(request, body.take(), ageSeconds);
    else this.#user.refused(request, trouble);
  }
}
