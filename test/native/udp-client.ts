/** A UDP client for tests: sends, and waits for what comes back. */
import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { once } from 'node:events';

export interface Arrival {
  readonly bytes: Buffer;
  readonly from: string;
  readonly port: number;
}

const WAIT_MS = 5_000;

export class UdpClient {
  readonly #socket: Socket;
  readonly #arrivals: Arrival[] = [];
  #wake: () => void = () => undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('message', (bytes: Buffer, peer: RemoteInfo) => {
      this.#arrivals.push({ bytes, from: peer.address, port: peer.port });
      this.#wake();
    });
  }

  /** @param connectTo  when given, only answers from that very address arrive */
  static async open(
    type: 'udp4' | 'udp6' = 'udp4',
    connectTo?: { address: string; port: number },
  ): Promise<UdpClient> {
    const socket = createSocket({ type, recvBufferSize: 4 * 1024 * 1024 });
    socket.bind(0, connectTo === undefined ? (type === 'udp4' ? '127.0.0.1' : '::1') : undefined);
    await once(socket, 'listening');
    if (connectTo !== undefined) {
      socket.connect(connectTo.port, connectTo.address);
      await once(socket, 'connect');
    }
    return new UdpClient(socket);
  }

  get port(): number {
    return this.#socket.address().port;
  }

  /** To the connected address when no port is given. */
  send(bytes: Uint8Array, port?: number, address = '127.0.0.1'): Promise<void> {
    return new Promise((resolve, reject) => {
      const done = (error: Error | null): void => (error === null ? resolve() : reject(error));
      if (port === undefined) this.#socket.send(bytes, done);
      else this.#socket.send(bytes, port, address, done);
    });
  }

  /** The next `count` datagrams. @throws Error saying how many came within five seconds */
  async receive(count = 1): Promise<Arrival[]> {
    const deadline = Date.now() + WAIT_MS;
    while (this.#arrivals.length < count) {
      const left = deadline - Date.now();
      if (left <= 0) throw new Error(`${String(this.#arrivals.length)} of ${String(count)} came`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.#arrivals.splice(0, count);
  }

  async receiveOne(): Promise<Arrival> {
    const [arrival] = await this.receive(1);
    if (arrival === undefined) throw new Error('nothing came');
    return arrival;
  }

  /** How many datagrams wait to be read. */
  get waiting(): number {
    return this.#arrivals.length;
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#socket.close(() => resolve()));
  }
}
