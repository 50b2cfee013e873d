/**
 * UDP sockets towards servers, and the kind made of node:dgram. The upstream sockets
 * (upstream-udp.ts) use them; native-udp-client.ts is the kind that receives and sends in batches,
 * with the same contract. In any thread.
 *
 * Sockets are connected and each is on a port that the kernel chose at random (RFC 5452 §9.2): the
 * kernel drops what comes from another address or port, and reports a closed port (ECONNREFUSED).
 */
import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import { sendFailureOf } from './network-error.ts';
import type { SendFailure } from './network-error.ts';
import type { PlainServer } from '../server-address.ts';
import { literalLookup } from '../listen/udp-listener.ts';

/** What a socket reports to. Never called before `open` or `send` has returned. */
export interface UdpClientUser {
  /** @param bytes  one datagram; may be changed, and is gone when the call returns */
  received(bytes: Buffer): void;
  /** The server cannot be reached; the socket is of no more use, and is to be closed. */
  broken(failure: SendFailure): void;
}

/** One connected socket. It does not keep the process running. */
export interface UdpClientSocket {
  /** Sends, at the latest at the end of the loop's turn. False when the socket cannot. */
  send(bytes: Buffer): boolean;
  /** Closes; nothing is reported any more. */
  close(): void;
}

/** A source of such sockets. */
export interface UdpClient {
  /** Opens a socket; one that cannot be opened is reported as broken. */
  open(server: PlainServer, user: UdpClientUser): UdpClientSocket;
  /** Closes all sockets and the source; idempotent. */
  close(): void;
}

/** Sockets of node:dgram. They belong to nobody but their users. */
export const dgramClient: UdpClient = {
  open: (server, user) => new DgramClientSocket(server, user),
  close: () => undefined,
};

class DgramClientSocket implements UdpClientSocket {
  readonly #socket: Socket;
  readonly #user: UdpClientUser;
  #isClosed = false;
  /** One callback for all sends: an error concerns the server, and so all that waits here. */
  readonly #sent = (error: Error | null): void => {
    if (error !== null) this.#breakOff(error);
  };

  constructor(server: PlainServer, user: UdpClientUser) {
    this.#user = user;
    this.#socket = createSocket({
      type: server.family === 6 ? 'udp6' : 'udp4',
      lookup: literalLookup,
    });
    this.#socket.on('error', (error) => {
      this.#breakOff(error);
    });
    this.#socket.on('message', (bytes) => {
      if (!this.#isClosed) user.received(bytes);
    });
    this.#socket.connect(server.port, server.address);
    this.#socket.unref();
  }

  send(bytes: Buffer): boolean {
    try {
      this.#socket.send(bytes, this.#sent);
      return true;
    } catch {
      // Not bound or not connected: its error event says so later, to nobody who waits.
      return false;
    }
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#socket.close();
  }

  #breakOff(error: Error): void {
    if (this.#isClosed) return;
    const failure = sendFailureOf(error);
    // Windows reports a closed port as a connection that was reset.
    this.#user.broken(failure === 'closed' ? 'server' : failure);
  }
}
