/**
 * Runs expressions in the threads of another Node process, over the inspector's WebSocket: so the
 * kill test ends or blocks a thread of the real program, which has no switch for that. Used by app.ts.
 */
const WAIT_MS = 5_000;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

export interface Inspector {
  /** In the main thread. Resolves when it was evaluated. */
  run(expression: string): Promise<void>;
  /** In the first worker whose URL holds the text. @throws when there is none */
  runInWorker(part: string, expression: string): Promise<void>;
  close(): void;
}

/** @throws when nobody listens there */
export async function connectInspector(port: number): Promise<Inspector> {
  const answer = await fetch(`http://127.0.0.1:${String(port)}/json/list`);
  const [target] = (await answer.json()) as { webSocketDebuggerUrl: string }[];
  if (!target) throw new Error('the inspector has no target');
  const socket = new WebSocket(target.webSocketDebuggerUrl);
  await once(socket, 'open');
  const session = new Session(socket);
  return {
    run: async (expression) => {
      await session.send('Runtime.evaluate', { expression });
    },
    runInWorker: async (part, expression) => {
      const attached = session.next('NodeWorker.attachedToWorker', ({ workerInfo }) =>
        (workerInfo as { url: string }).url.includes(part),
      );
      await session.send('NodeWorker.enable', { waitForDebuggerOnStart: false });
      const { sessionId } = await attached;
      const message = JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression } });
      const evaluated = session.next(
        'NodeWorker.receivedMessageFromWorker',
        (params) => params['sessionId'] === sessionId,
      );
      await session.send('NodeWorker.sendMessageToWorker', { sessionId, message });
      await evaluated;
    },
    close: () => {
      socket.close();
    },
  };
}

class Session {
  readonly #socket: WebSocket;
  readonly #heard = new Set<(message: Message) => void>();
  #id = 0;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const message = JSON.parse(String(data)) as Message;
      for (const hear of [...this.#heard]) hear(message);
    });
  }

  async send(method: string, params: object): Promise<void> {
    const id = ++this.#id;
    const reply = this.#wait(method, (message) => message.id === id);
    this.#socket.send(JSON.stringify({ id, method, params }));
    const { error } = await reply;
    if (error) throw new Error(`${method}: ${error.message}`);
  }

  async next(
    method: string,
    fits: (params: Record<string, unknown>) => boolean,
  ): Promise<Record<string, unknown>> {
    const { params = {} } = await this.#wait(
      method,
      (message) => message.method === method && fits(message.params ?? {}),
    );
    return params;
  }

  #wait(what: string, fits: (message: Message) => boolean): Promise<Message> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#heard.delete(hear);
        reject(new Error(`the inspector did not answer: ${what}`));
      }, WAIT_MS);
      const hear = (message: Message): void => {
        if (!fits(message)) return;
        clearTimeout(timer);
        this.#heard.delete(hear);
        resolve(message);
      };
      this.#heard.add(hear);
    });
  }
}

function once(socket: WebSocket, event: 'open'): Promise<void> {
  return new Promise((resolve, reject) => {
    socket.addEventListener(event, () => {
      resolve();
    });
    socket.addEventListener('error', () => {
      reject(new Error('the inspector closed the connection'));
    });
  });
}
