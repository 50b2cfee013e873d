/**
 * Serves the built window to browsers from memory, or a plain page while it is not built.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { send } from './reply.ts';
import { readPageFiles, type PageFiles } from './page-files.ts';

const NOT_BUILT = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Sluice</title>
<h1>Sluice is running</h1>
<p>The window is not built. Run <code>npm run build</code> and load this page again.</p>
<p><a href="/health">Health</a> · <a href="/metrics">Metrics</a></p>
</html>
`;

const PLAIN = 'text/plain; charset=utf-8';
const IMMUTABLE = 'private, max-age=31536000, immutable';

export class Page {
  readonly #folder: string;
  /** Once it was there. */
  #files: Promise<PageFiles | null> | null = null;

  /** @param folder  of the built window; looked at again until it is there */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async serve(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
    const files = await this.#read();
    if (files === null) {
      if (path === '/') send(response, 200, 'text/html; charset=utf-8', NOT_BUILT);
      else send(response, 404, PLAIN, 'not found\n');
      return;
    }
    const file = files.get(path === '/' ? '/index.html' : path);
    if (!file) {
      send(response, 404, PLAIN, 'not found\n');
      return;
    }
    const headers = { etag: file.etag, 'cache-control': file.isImmutable ? IMMUTABLE : 'no-cache' };
    const isKnown = request.headers['if-none-match'] === file.etag;
    send(response, isKnown ? 304 : 200, file.type, isKnown ? '' : file.body, headers);
  }

  /** One reading at a time; it is tried again until it has succeeded. */
  async #read(): Promise<PageFiles | null> {
    const reading = (this.#files ??= readPageFiles(this.#folder));
    try {
      const files = await reading;
      if (files === null) this.#files = null;
      return files;
    } catch (error) {
      this.#files = null;
      throw error;
    }
  }
}
