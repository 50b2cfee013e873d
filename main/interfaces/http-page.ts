/**
 * Serves the built window (dist/renderer) to browsers, or a plain page while it is not built.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { SECURITY_HEADERS, send } from './http-reply.ts';

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sluice</title>
<h1>Sluice is running</h1>
<p>The window is not built. Run <code>npm run build</code> and load this page again.</p>
<p><a href="/health">Health</a> · <a href="/metrics">Metrics</a> ·
<a href="/api/status">Status</a> · <a href="/api/openapi.json">API</a></p>
</html>
`;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** @param folder  of the built window; looked at again until it is there */
export function createPageHandler(folder: string): (...args: Parameters<Handler>) => Promise<void> {
  let serve: Handler | null = null;
  return async (request, response) => {
    if (!serve && existsSync(join(folder, 'index.html'))) serve = await openFolder(folder);
    if (serve) serve(request, response);
    else if (request.url === '/') send(response, 200, 'text/html; charset=utf-8', NOT_BUILT);
    else send(response, 404, 'text/plain; charset=utf-8', 'not found\n');
  };
}

async function openFolder(folder: string): Promise<Handler> {
  const { default: sirv } = await import('sirv');
  const files = sirv(folder, {
    etag: true,
    setHeaders(response) {
      for (const [name, value] of Object.entries(SECURITY_HEADERS)) response.setHeader(name, value);
      response.setHeader('cache-control', 'no-cache');
    },
  });
  return (request, response) => {
    files(request, response, () => {
      send(response, 404, 'text/plain; charset=utf-8', 'not found\n');
    });
  };
}
