/**
 * Keeps an event stream of live updates open: reads it with fetch, and reconnects with growing
 * waits when it ends.
 */
import type { LiveUpdate } from '../../main/contract/methods/methods.ts';
import type { ConnectionSink } from './client.ts';
import { EventStreamParser } from './event-stream.ts';

const retryFirstMs = 500;
const retryMaxMs = 8_000;
/** An update is at most 100 rows of names of at most 255 bytes, and some totals. */
const messageCharactersMax = 1024 * 1024;

export interface LiveStreamOptions {
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly connection: ConnectionSink;
  readonly onUpdate: (update: LiveUpdate) => void;
}

/** Opens the stream. The returned function closes it for good. */
export function openLiveStream(options: LiveStreamOptions): () => void {
  const abort = new AbortController();
  void keepOpen(options, abort.signal);
  return () => {
    abort.abort();
  };
}

async function keepOpen(options: LiveStreamOptions, signal: AbortSignal): Promise<void> {
  let waitMs = retryFirstMs;
  for (;;) {
    const delivered = await readOnce(options, signal);
    if (signal.aborted) return;
    waitMs = delivered ? retryFirstMs : Math.min(waitMs * 2, retryMaxMs);
    await pause(waitMs, signal);
  }
}

/** Reads one connection to its end. True when it brought at least one update. */
async function readOnce(options: LiveStreamOptions, signal: AbortSignal): Promise<boolean> {
  const { connection } = options;
  let delivered = false;
  try {
    const response = await fetch(options.url, {
      headers: { ...options.headers, accept: 'text/event-stream' },
      cache: 'no-store',
      signal,
    });
    if (response.status === 401) {
      connection.refused();
      return false;
    }
    if (!response.ok || response.body === null) return false;
    connection.answered();
    const parser = new EventStreamParser(messageCharactersMax);
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      for (const data of parser.push(value)) {
        options.onUpdate(JSON.parse(data) as LiveUpdate);
        delivered = true;
      }
    }
  } catch {
    // Told below, as the end of a stream is.
  }
  if (!signal.aborted) connection.failed();
  return delivered;
}

/** Resolves after a while, or at once when aborted. */
function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(finish, ms);
    signal.addEventListener('abort', finish, { once: true });
    function finish(): void {
      clearTimeout(timer);
      signal.removeEventListener('abort', finish);
      resolve();
    }
  });
}
