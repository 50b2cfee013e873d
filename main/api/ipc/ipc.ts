/**
 * The door of the desktop window: the method table and the live topic over Electron's IPC.
 *
 * Runs in Electron's main process, which passes its `ipcMain` in. Every message is accepted only
 * from a frame that `isOurs` approves. Live updates to a window wait while one is on its way, if
 * the preload acknowledges them; so a window that hangs costs one update of memory.
 */
import { AppError, toWire } from '../../contract/errors.ts';
import { LIMITS } from '../../contract/limits.ts';
import type { Caller, ServiceClient } from '../../contract/methods/methods.ts';
import type { Uploads } from '../../control/methods/uploads.ts';
import { dispatch, type Callee } from '../dispatch.ts';
import { NewestUpdate } from '../newest-update.ts';

/** Names of the channels; the preload uses the same. */
export const CHANNEL = {
  call: 'service:call',
  event: 'service:event',
  subscribe: 'service:subscribe',
  unsubscribe: 'service:unsubscribe',
  /** Sent by the preload after each event, if it can; optional. */
  received: 'service:received',
  /** A piece of a file: (id or null, bytes) → {ok, value: UploadReceipt} or {ok, error}. */
  upload: 'service:upload',
} as const;

/** The parts of Electron's types that are used here. */
export interface IpcEvent {
  readonly sender: WebContentsLike;
  readonly senderFrame?: unknown;
}
export interface WebContentsLike {
  readonly id: number;
  send(channel: string, ...values: unknown[]): void;
  isDestroyed(): boolean;
  once(event: 'destroyed', listener: () => void): unknown;
}
export interface IpcMainLike {
  handle(
    channel: string,
    listener: (event: never, ...values: unknown[]) => Promise<unknown>,
  ): unknown;
  removeHandler(channel: string): unknown;
  on(channel: string, listener: (event: never, ...values: unknown[]) => void): unknown;
  removeListener(channel: string, listener: (...values: never[]) => void): unknown;
}

/** What the door needs of the service. */
export interface IpcService extends Callee, Pick<ServiceClient, 'subscribe'> {
  readonly uploads: Pick<Uploads, 'append'>;
}

export interface IpcDoorOptions<Event extends IpcEvent> {
  readonly ipcMain: IpcMainLike;
  readonly service: IpcService;
  /** Whether the frame that sent this event is our own page. */
  readonly isOurs: (event: Event) => boolean;
}

interface Subscription {
  readonly newest: NewestUpdate;
  readonly unsubscribe: () => void;
  acknowledges: boolean;
}

/** As much as a browser with the token: files of this machine come as uploads, never as paths. */
const WINDOW: Caller = { permission: 'write', isLocal: false };

/** Opens the door. @returns closes it again; idempotent */
export function openIpcDoor<Event extends IpcEvent>(options: IpcDoorOptions<Event>): () => void {
  const { ipcMain, service, isOurs } = options;
  const subscriptions = new Map<number, Subscription>();
  const watched = new Set<number>();
  const end = (id: number) => {
    subscriptions.get(id)?.unsubscribe();
    subscriptions.delete(id);
  };
  const watch = (sender: WebContentsLike) => {
    if (watched.has(sender.id)) return;
    watched.add(sender.id);
    sender.once('destroyed', () => {
      watched.delete(sender.id);
      end(sender.id);
    });
  };

  const onCall = async (event: Event, name: unknown, input: unknown) =>
    isOurs(event) ? dispatch(service, WINDOW, name, input) : { ok: false, error: refusal() };

  const onUpload = async (event: Event, id: unknown, piece: unknown) =>
    isOurs(event) ? upload(service.uploads, id, piece) : { ok: false, error: refusal() };

  const onSubscribe = (event: Event) => {
    if (!isOurs(event)) return;
    end(event.sender.id);
    try {
      subscriptions.set(event.sender.id, subscribe(service, event.sender));
      watch(event.sender);
    } catch (error) {
      // Too many subscribers: the topic has counted it, and the window shows no live rows.
      if (!(error instanceof AppError)) throw error;
    }
  };

  const onUnsubscribe = (event: Event) => {
    if (isOurs(event)) end(event.sender.id);
  };

  const onReceived = (event: Event) => {
    const subscription = isOurs(event) ? subscriptions.get(event.sender.id) : undefined;
    if (!subscription) return;
    subscription.acknowledges = true;
    subscription.newest.ready();
  };

  ipcMain.handle(CHANNEL.call, onCall);
  ipcMain.handle(CHANNEL.upload, onUpload);
  ipcMain.on(CHANNEL.subscribe, onSubscribe);
  ipcMain.on(CHANNEL.unsubscribe, onUnsubscribe);
  ipcMain.on(CHANNEL.received, onReceived);
  return () => {
    for (const id of [...subscriptions.keys()]) end(id);
    ipcMain.removeHandler(CHANNEL.call);
    ipcMain.removeHandler(CHANNEL.upload);
    ipcMain.removeListener(CHANNEL.subscribe, onSubscribe);
    ipcMain.removeListener(CHANNEL.unsubscribe, onUnsubscribe);
    ipcMain.removeListener(CHANNEL.received, onReceived);
  };
}

async function upload(uploads: IpcService['uploads'], id: unknown, piece: unknown) {
  try {
    const isPiece = piece instanceof Uint8Array && piece.length <= LIMITS.uploadPieceBytesMax;
    if (!isPiece || (id !== null && typeof id !== 'string')) {
      throw new AppError('ARGUMENT_INVALID', 'an upload is an id or null, and a piece of bytes');
    }
    return { ok: true, value: await uploads.append(id, piece) };
  } catch (error) {
    return { ok: false, error: toWire(error) };
  }
}

function subscribe(service: IpcService, sender: WebContentsLike): Subscription {
  const newest = new NewestUpdate((update) => {
    if (sender.isDestroyed()) return false;
    sender.send(CHANNEL.event, update);
    return !subscription.acknowledges;
  });
  const subscription: Subscription = {
    newest,
    acknowledges: false,
    unsubscribe: service.subscribe((update) => {
      newest.push(update);
    }),
  };
  return subscription;
}

function refusal() {
  return toWire(new AppError('NOT_ALLOWED', 'this page is not a window of Sluice'));
}
