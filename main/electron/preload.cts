/**
 * The only bridge between the window and the program: `window.sluice`.
 *
 * Runs in the sandboxed renderer before the page, and therefore must be CommonJS. The page gets three
 * functions, no channel names and no paths of files; the main process checks every call (api/ipc/ipc.ts). A failed
 * call arrives as a value, since an error would lose its code on the way through the bridge.
 */
import type { LiveUpdate } from '../contract/methods/methods.ts' with {
  'resolution-mode': 'import',
};
import type { IpcRendererEvent } from 'electron';

// A sandboxed preload has no import; this is Electron's own require.
// eslint-disable-next-line @typescript-eslint/no-require-imports
const { contextBridge, ipcRenderer } = require('electron') as typeof import('electron');

const listeners = new Set<(update: LiveUpdate) => void>();

function onEvent(_event: IpcRendererEvent, update: LiveUpdate): void {
  // The next update comes only after this word, so a page that hangs does not pile them up.
  ipcRenderer.send('service:received');
  for (const listener of [...listeners]) listener(update);
}

contextBridge.exposeInMainWorld('sluice', {
  /** Resolves with {ok: true, value} or {ok: false, error: {code, message}}. */
  call: (name: unknown, input: unknown): Promise<unknown> =>
    ipcRenderer.invoke('service:call', name, input),

  /** Adds a piece to a file that is sent; null begins one. Resolves as `call`, with id and bytes. */
  upload: (id: string | null, piece: Uint8Array): Promise<unknown> =>
    ipcRenderer.invoke('service:upload', id, piece),

  /** Calls `onUpdate` with each live update until the returned function is called. */
  subscribe: (onUpdate: (update: LiveUpdate) => void): (() => void) => {
    // A wrapper of its own, so that one function may be subscribed twice.
    const listener = (update: LiveUpdate): void => {
      onUpdate(update);
    };
    listeners.add(listener);
    if (listeners.size === 1) {
      ipcRenderer.on('service:event', onEvent);
      ipcRenderer.send('service:subscribe');
    }
    return () => {
      if (!listeners.delete(listener) || listeners.size > 0) return;
      ipcRenderer.removeListener('service:event', onEvent);
      ipcRenderer.send('service:unsubscribe');
    };
  },
});
