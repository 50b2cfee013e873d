/** A reader thread that never answers a search for "hang"; everything else it answers empty. */
import { parentPort } from 'node:worker_threads';
import type { ToReader } from '../../main/log/messages.ts';

parentPort?.on('message', (message: ToReader) => {
  if (message.kind !== 'search') return;
  while (message.arguments.text === 'hang');
  const value = { rows: [], nextBeforeId: null, incomplete: false };
  parentPort?.postMessage({ id: message.id, ok: true, value });
});
