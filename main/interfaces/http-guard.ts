/**
 * Decides who may use the HTTP door, before anything is read from the request.
 *
 * - A Host header must be an IP address or "localhost": a web page that points its own name at this
 *   machine (DNS rebinding) sends its own name.
 * - An Origin header must be that same host: no other site's page may call, and there is no CORS.
 * - /api/ needs the token of the instance, except for a client on this machine whose socket belongs
 *   to the same user or to root (interfaces/peer-owner.ts).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP, type Socket } from 'node:net';
import { isOwnPeer } from './peer-owner.ts';

/** Why a request is refused; null when it is not. */
export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

/** Checks for every path: Host and Origin. */
export function refuseForeign(request: IncomingMessage): Refusal | null {
  const host = request.headers.host ?? '';
  if (!isOwnHost(host)) {
    return { status: 403, message: `the host ${JSON.stringify(host.slice(0, 80))} is not served` };
  }
  const { origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  const isForeignOrigin = origin !== undefined && origin !== `http://${host}`;
  const isForeignSite = site === 'cross-site' || site === 'same-site';
  if (isForeignOrigin || (isForeignSite && isApi(request))) {
    return { status: 403, message: 'pages of other sites may not call Sluice' };
  }
  return null;
}

/** Remembers for each connection whether its client needs a token. */
export class TokenGuard {
  readonly #digest: Buffer;
  readonly #ownPeers = new WeakMap<Socket, Promise<boolean>>();

  constructor(token: string) {
    this.#digest = digest(token);
  }

  /** Checks the right to use /api/. */
  async refuse(request: IncomingMessage): Promise<Refusal | null> {
    const [scheme, token] = (request.headers.authorization ?? '').split(' ', 2);
    if (scheme?.toLowerCase() === 'bearer' && token !== undefined) {
      if (timingSafeEqual(digest(token), this.#digest)) return null;
      return { status: 401, message: 'the token is not the one of this instance' };
    }
    if (await this.#isOwn(request.socket)) return null;
    return {
      status: 401,
      message:
        'a token is needed: send "Authorization: Bearer ..." or open the link that ' +
        '"sluice open" prints',
    };
  }

  #isOwn(socket: Socket): Promise<boolean> {
    let known = this.#ownPeers.get(socket);
    if (!known) {
      known = isOwnPeer(socket);
      this.#ownPeers.set(socket, known);
    }
    return known;
  }
}

function isApi(request: IncomingMessage): boolean {
  return request.url?.startsWith('/api/') === true;
}

function isOwnHost(host: string): boolean {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([^:[\]]+))(?::\d{1,5})?$/.exec(host);
  const name = match?.[1] ?? match?.[2] ?? '';
  return name.toLowerCase() === 'localhost' || isIP(name) > 0;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
