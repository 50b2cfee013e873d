/**
 * A list server on loopback whose answers a test sets, and a lookup that fails the test when used.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, LookupFunction } from 'node:net';
import type { TestContext } from 'node:test';

export type Answer = (request: IncomingMessage, response: ServerResponse) => void;

export interface ListServer {
  /** http://127.0.0.1:port */
  readonly origin: string;
  readonly port: number;
  /** Paths asked for, in order. */
  readonly requests: { readonly url: string; readonly headers: IncomingMessage['headers'] }[];
  /** Answers by path; others get 404. */
  readonly answers: Map<string, Answer>;
  /** Stops listening and cuts all connections. */
  readonly close: () => Promise<void>;
}

export async function listServer(
  t: Pick<TestContext, 'after'>,
  address = '127.0.0.1',
  wantedPort = 0,
): Promise<ListServer> {
  const requests: ListServer['requests'] = [];
  const answers = new Map<string, Answer>();
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    requests.push({ url, headers: request.headers });
    const answer = answers.get(url);
    if (answer) answer(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(wantedPort, address, resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  t.after(close);
  return { origin: `http://${address}:${port}`, port, requests, answers, close };
}

/** Answers with a text, and 304 to whoever has its ETag. */
export function serve(text: string | Uint8Array, etag = ''): Answer {
  return (request, response) => {
    if (etag !== '' && request.headers['if-none-match'] === etag) {
      response.writeHead(304).end();
      return;
    }
    response.writeHead(200, etag === '' ? {} : { etag }).end(text);
  };
}

/** For tests whose URLs hold literal addresses: names must not be looked up. */
export const noLookup: LookupFunction = (hostname, _options, callback) => {
  callback(new Error(`unexpected lookup of ${hostname}`), '', 0);
};

/** A lookup with fixed answers. */
export function fixedLookup(addresses: Record<string, string>): LookupFunction {
  return (hostname, options, callback) => {
    const address = addresses[hostname];
    if (address === undefined) callback(new Error(`${hostname} does not exist`), '', 0);
    else if (options.all === true)
      callback(null, [{ address, family: address.includes(':') ? 6 : 4 }]);
    else callback(null, address, address.includes(':') ? 6 : 4);
  };
}
