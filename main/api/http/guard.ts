/**
 * Decides who may use the HTTP door, before anything is read from the request.
 *
 * - The Host must be an IP address or a name of this machine (`OwnNames`): a web page that points
 *   its own name here (DNS rebinding) sends its own name.
 * - Requests of other sites' pages are refused, by Origin and Sec-Fetch-Site; a link to the window
 *   is not one. There is no CORS.
 * - /api needs the token of the instance. Being the same user is no proof: sandboxed programs and
 *   containers are that, too. The socket in the data folder needs none (control-socket.ts).
 */
import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { hostname } from 'node:os';
import type { Target } from './target.ts';

/** Why a request is refused; null when it is not. */
export interface Refusal {
  readonly status: 401 | 403;
  readonly message: string;
}

/** Names under which this machine is reached; `http.hosts` are those that people gave it. */
export class OwnNames {
  readonly #given: () => readonly string[];
  readonly #machine: () => string;

  constructor(given: () => readonly string[], machine: () => string = hostname) {
    this.#given = given;
    this.#machine = machine;
  }

  /** @param name  without port */
  has(name: string): boolean {
    if (isIP(name) > 0) return true;
    const lower = name.toLowerCase();
    if (lower === 'localhost' || this.isGiven(lower)) return true;
    const own = this.#machine().toLowerCase();
    const first = own.split('.', 1)[0] ?? '';
    return first !== '' && [own, first, `${first}.local`].includes(lower);
  }

  isGiven(name: string): boolean {
    return this.#given().some((one) => one.toLowerCase() === name.toLowerCase());
  }
}

/** Checks for every path: Host, and that no page of another site asks. */
export function refuseForeign(
  request: Pick<IncomingMessage, 'headers' | 'method'>,
  target: Target,
  names: OwnNames,
): Refusal | null {
  const { host = '', origin } = request.headers;
  const name = hostNameOf(host);
  if (name === null || !names.has(name)) {
    const shown = JSON.stringify(host.slice(0, 80));
    return { status: 403, message: `the host ${shown} is not served; http.hosts can name it` };
  }
  const isOwn = origin === undefined || isOwnOrigin(origin, host, names);
  if (isOwn && (!isOfOtherSite(request) || isLink(request, target))) return null;
  return { status: 403, message: 'pages of other sites may not call Sluice' };
}

function isOfOtherSite({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const site = headers['sec-fetch-site'];
  return site === 'cross-site' || site === 'same-site';
}

/** Whether somebody follows a link to the window: of the answer the other page sees nothing. */
function isLink({ headers, method }: Pick<IncomingMessage, 'headers' | 'method'>, target: Target) {
  const { 'sec-fetch-mode': mode, 'sec-fetch-dest': destination = 'document' } = headers;
  return !target.isApi && method === 'GET' && mode === 'navigate' && destination === 'document';
}

/** Whether a request has the token of the instance. */
export class TokenGuard {
  readonly #token: () => string;

  /** @param token  asked anew for each request, since it may be renewed */
  constructor(token: () => string) {
    this.#token = token;
  }

  /** Checks the right to use /api. */
  refuse({ headers }: Pick<IncomingMessage, 'headers'>): Refusal | null {
    const [scheme, token] = (headers.authorization ?? '').split(' ', 2);
    if (scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '') {
      if (timingSafeEqual(digest(token), digest(this.#token()))) return null;
      return { status: 401, message: 'the token is not the one of this instance' };
    }
    return {
      status: 401,
      message:
        'a token is needed: send "Authorization: Bearer ..." or open the link that ' +
        '"sluice open" prints',
    };
  }
}

/**
 * The page's origin is the host that it asks; behind a proxy, which may encrypt and may put its own
 * Host in place, it is a name of `http.hosts`.
 */
function isOwnOrigin(origin: string, host: string, names: OwnNames): boolean {
  if (origin === `http://${host}`) return true;
  const [, rest] = /^https?:\/\/([^/]+)$/.exec(origin) ?? [];
  const name = rest === undefined ? null : hostNameOf(rest);
  return name !== null && names.isGiven(name) && (rest === name || rest === host);
}

/** The name or address of "host:port"; null when it is none. */
function hostNameOf(host: string): string | null {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+))(?::\d{1,5})?$/.exec(host);
  const [, address, name] = match ?? [];
  if (address !== undefined) return isIP(address) === 6 ? address : null;
  return name ?? null;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
