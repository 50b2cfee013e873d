/** An HTTP server of lists for the hostile test: well-behaved at first, then as a path's name says. */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { isMainThread, parentPort, Worker, type MessagePort } from 'node:worker_threads';
import { gzipSync } from 'node:zlib';

const NAMES = 2_000;
const GIB = 2 ** 30;

type Answer = (response: ServerResponse, request: IncomingMessage, good: string) => void;

/** Text of a good list: `core` names that every version has, one of this version. */
export function listText(name: string, version: number, count = NAMES): string {
  const lines = Array.from({ length: count }, (_, at) => `${name}-${String(at)}.listed.example`);
  return `# ${name}\n${lines.join('\n')}\nv${String(version)}.${name}.listed.example\n`;
}

const BOMB_BYTES = 256 * 2 ** 20;
/** Made when a server starts. */
let bomb = Buffer.alloc(0);

function stream(response: ServerResponse, chunk: Buffer, bytes: number): void {
  let left = bytes;
  const write = (): void => {
    while (left > 0 && !response.destroyed) {
      left -= chunk.length;
      if (!response.write(chunk)) {
        response.once('drain', write);
        return;
      }
    }
    response.end();
  };
  write();
}

/** Each is what a server does with a request for the list of that name. */
export const HOSTILE: Readonly<Record<string, Answer>> = {
  drip: (response, _, good) => {
    response.writeHead(200);
    let at = 0;
    const timer = setInterval(() => response.write(good[at++ % good.length] ?? ''), 500);
    response.on('close', () => clearInterval(timer));
  },
  endless: (response) => {
    response.writeHead(200);
    stream(response, Buffer.from('endless.example\n'.repeat(4_096)), 64 * GIB);
  },
  'gzip-bomb': (response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
  },
  'length-too-large': (response, _, good) => {
    response.writeHead(200, { 'content-length': good.length * 2 });
    response.write(good);
    setTimeout(() => response.destroy(), 200);
  },
  'length-of-a-gigabyte': (response) => {
    response.writeHead(200, { 'content-length': GIB });
    stream(response, Buffer.alloc(65_536, 'x.example\n'), GIB);
  },
  html: (response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end(`<!doctype html><html><body>${'<p>Log in</p>'.repeat(500)}</body></html>`);
  },
  'redirect-loop': (response, request) => {
    response.writeHead(302, { location: request.url }).end();
  },
  'redirect-elsewhere': (response) => {
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end();
  },
  'redirect-file': (response) => {
    response.writeHead(302, { location: 'file:///etc/passwd' }).end();
  },
  reset: (response, _, good) => {
    response.writeHead(200);
    response.write(good.slice(0, good.length / 2));
    setTimeout(() => response.socket?.resetAndDestroy(), 50);
  },
  'half-the-names': (response, _, good) => {
    response.end(good.slice(0, good.length / 3));
  },
  'other-etag': (response, _, good) => {
    response.writeHead(200, { etag: `"${String(Math.random())}"` }).end(good);
  },
  empty: (response) => response.writeHead(200).end(),
  garbage: (response) => {
    response
      .writeHead(200)
      .end(Buffer.from(Array.from({ length: 60_000 }, (_, at) => (at * 7919) & 255)));
  },
  'no-answer': () => undefined,
  'status-500': (response) => response.writeHead(500).end('no'),
  'broken-gzip': (response) =>
    response.writeHead(200, { 'content-encoding': 'gzip' }).end('no gzip'),
  'large-header': (response, _, good) => {
    response.writeHead(200, { 'x-large': 'x'.repeat(60_000) }).end(good);
  },
  'one-long-line': (response) => stream(response, Buffer.alloc(65_536, 'a'), 32 * 2 ** 20),
};

/** What the server is like now; the main thread's wish. */
interface Mode {
  readonly version: number;
  readonly isHostile: boolean;
  readonly names: number;
}

/** The server, in a thread of its own: endless bodies are not to hold up who asks and answers. */
async function serve(port: MessagePort): Promise<void> {
  bomb = gzipSync(Buffer.alloc(BOMB_BYTES, 'a.example\n'), { level: 9 });
  let mode: Mode = { version: 1, isHostile: false, names: NAMES };
  const server = createServer((request, response) => {
    response.on('error', () => undefined);
    const name = (request.url ?? '').slice(1);
    const good = listText(name, mode.version, mode.names);
    const hostile = HOSTILE[name];
    if (mode.isHostile && hostile !== undefined) hostile(response, request, good);
    else response.writeHead(200, { 'content-type': 'text/plain' }).end(good);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port.on('message', (wanted: Mode) => {
    mode = wanted;
    port.postMessage('done');
  });
  port.postMessage((server.address() as AddressInfo).port);
}

/** The main thread's side. */
export class ListServer {
  readonly #worker: Worker;
  readonly #port: number;
  #mode: Mode = { version: 1, isHostile: false, names: NAMES };

  static async open(): Promise<ListServer> {
    const worker = new Worker(new URL(import.meta.url));
    const [port] = (await once(worker, 'message')) as [number];
    return new ListServer(worker, port);
  }

  private constructor(worker: Worker, port: number) {
    this.#worker = worker;
    this.#port = port;
  }

  url(name: string): string {
    return `http://127.0.0.1:${String(this.#port)}/${name}`;
  }

  /** Good lists are others from now on. */
  async nextVersion(): Promise<void> {
    await this.#change({ version: this.#mode.version + 1 });
  }

  /** What a path is named after happens from now on. */
  async turnHostile(): Promise<void> {
    await this.#change({ isHostile: true });
  }

  /** @param names  in each good list */
  async resize(names: number): Promise<void> {
    await this.#change({ names });
  }

  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  async #change(change: Partial<Mode>): Promise<void> {
    this.#mode = { ...this.#mode, ...change };
    const done = once(this.#worker, 'message');
    this.#worker.postMessage(this.#mode);
    await done;
  }
}

if (!isMainThread && parentPort !== null) await serve(parentPort);
