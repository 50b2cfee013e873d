/**
 * Reads the target of a request, once, for all who decide by it: the guard, the routes, the page.
 *
 * Only the origin form is taken (RFC 9112 §3.2.1), with a path that has one spelling: segments of
 * letters, digits and `._~-`, none empty, "." or "..", nothing percent-encoded. Everything that is
 * served has such a path. The absolute, authority and asterisk forms, "//host/…", backslashes and
 * fragments are refused, since another reader could see another path in them.
 */

export interface Target {
  /** Begins with one slash. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly isApi: boolean;
}

const API = '/api/';
const PATH = /^(?:\/|(?:\/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+\/?)$/;
/** RFC 3986 §3.4; brackets are what browsers leave as they are. */
const QUERY = /^[A-Za-z0-9._~!$&'()*+,;=:@/?%[\]|-]*$/;

/** @param raw  as in the request line. @returns null for what is not served in any form */
export function parseTarget(raw: string): Target | null {
  const mark = raw.indexOf('?');
  const path = mark < 0 ? raw : raw.slice(0, mark);
  const query = mark < 0 ? '' : raw.slice(mark + 1);
  if (!PATH.test(path) || !QUERY.test(query)) return null;
  return { path, query: new URLSearchParams(query), isApi: path.startsWith(API) };
}

/** The method that an API path names. */
export function methodOf({ path }: Target): string {
  return path.slice(API.length);
}
