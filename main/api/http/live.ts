/**
 * The live topic over HTTP: server-sent events, each message one LiveUpdate as JSON.
 *
 * A client that reads too slowly gets the newest update when it has caught up; the ones between are
 * counted, not kept (newest-update.ts). One that takes nothing for half a minute is let go.
 * Source: HTML Living Standard §9.2 (event stream format).
 */
import type { ServerResponse } from 'node:http';
import type { ServiceClient } from '../../contract/methods/methods.ts';
import { SECURITY_HEADERS } from './reply.ts';
import { NewestUpdate } from '../newest-update.ts';

/** A client that has not drained its socket for so long is not coming back. */
const STALL_MAX_MS = 30_000;

/** Keeps the response open until the client or the door closes it. @throws AppError TOO_MANY */
export function streamLive(response: ServerResponse, service: Pick<ServiceClient, 'subscribe'>) {
  let stall: NodeJS.Timeout | undefined;
  const newest = new NewestUpdate((update) => {
    const hasRoom = response.write(`data: ${JSON.stringify(update)}\n\n`);
    if (!hasRoom) stall = setTimeout(() => response.destroy(), STALL_MAX_MS).unref();
    return hasRoom;
  });
  const unsubscribe = service.subscribe((update) => {
    newest.push(update);
  });
  response.on('drain', () => {
    clearTimeout(stall);
    newest.ready();
  });
  response.on('close', () => {
    clearTimeout(stall);
    unsubscribe();
  });
  response.writeHead(200, {
    ...SECURITY_HEADERS,
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
  });
  response.write('retry: 2000\n\n');
}
