/**
 * Serves the built window under app://sluice/, the only origin the window may load anything from.
 * Used by window.ts in Electron's main thread; knows nothing of Electron itself.
 *
 * A scheme of its own, rather than file:, gives the page an origin that IPC can be checked
 * against, headers, and no way to other files.
 */
import { readFile, realpath } from 'node:fs/promises';
import { extname, join, sep } from 'node:path';
import { PAGE_TYPES } from '../api/http/page-files.ts';
import { PAGE_POLICY } from '../api/http/page-policy.ts';

export const UI_SCHEME = 'app';
export const UI_ORIGIN = 'app://sluice';

/** Makes the handler for the scheme. @param folder  the built window; need not exist yet */
export function uiHandler(
  folder: string,
): (request: Pick<Request, 'method' | 'url'>) => Promise<Response> {
  return async (request) => {
    if (request.method !== 'GET' && request.method !== 'HEAD') return refusal(405);
    const path = await fileOf(folder, request.url);
    const type = path === null ? undefined : PAGE_TYPES[extname(path)];
    if (path === null || type === undefined) return refusal(404);
    try {
      const body = new Uint8Array(await readFile(path));
      return new Response(body, { headers: { 'content-type': type, ...headers() } });
    } catch {
      return refusal(404);
    }
  };
}

/** The file a URL stands for, or null when it is not one below the folder. */
async function fileOf(folder: string, address: string): Promise<string | null> {
  try {
    const url = new URL(address);
    if (`${url.protocol}//${url.host}` !== UI_ORIGIN) return null;
    const path = decodeURIComponent(url.pathname);
    const root = await realpath(folder);
    const file = await realpath(join(root, path === '/' ? 'index.html' : path));
    return file.startsWith(root + sep) ? file : null;
  } catch {
    return null;
  }
}

function refusal(status: number): Response {
  return new Response(null, { status, headers: headers() });
}

function headers(): Record<string, string> {
  return {
    'content-security-policy': PAGE_POLICY,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
  };
}
