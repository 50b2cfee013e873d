/**
 * The desktop shell around a running program: window, tray, IPC and an orderly end. Made by main.ts
 * once the program answers; Electron's main thread.
 *
 * The shell only shows and asks. DNS is answered in the program's own threads, whatever the window
 * does; closing the window leaves it running while there is a tray to come back from.
 */
import { app, ipcMain, type IpcMainEvent, type IpcMainInvokeEvent } from 'electron';
import { join } from 'node:path';
import type { ServiceClient } from '../contract/methods/methods.ts';
import { openIpcDoor, type IpcMainLike, type IpcService } from '../api/ipc/ipc.ts';
import { TrayController } from './tray.ts';
import { hasTrayHost } from './tray-host.ts';
import { trayFile, type TrayAction, type TrayState, type TrayView } from './tray-model.ts';
import { UI_ORIGIN } from './ui-protocol.ts';
import { MainWindow } from './window.ts';

/** A panel may start after us at login: how often and how long it is looked for. */
const TRAY_LOOK_EVERY_MS = 10_000;
const TRAY_LOOKS_MAX = 12;

export interface DesktopOptions {
  readonly service: ServiceClient & IpcService;
  /** Folder for the shell's own small files. */
  readonly directory: string;
  readonly preloadFile: string;
  /** Path of a file in resources/icons. */
  readonly iconPath: (name: string) => string;
  /** Start in the tray, if there is one. */
  readonly isHidden: boolean;
  /** Tells the person who started us something, one line. */
  readonly say: (line: string) => void;
}

export class Desktop {
  readonly #options: DesktopOptions;
  readonly #window: MainWindow;
  readonly #tray: TrayController;
  readonly #closeIpc: () => void;
  #looks = 0;
  #lookTimer: NodeJS.Timeout | undefined;
  #isEnding = false;

  private constructor(options: DesktopOptions, state: TrayState) {
    this.#options = options;
    this.#window = new MainWindow({
      preloadFile: options.preloadFile,
      iconFile: options.iconPath('app.png'),
      boundsFile: join(options.directory, 'window.json'),
      hasDevTools: !app.isPackaged,
      mayClose: () => this.#mayClose(),
    });
    this.#tray = new TrayController(
      {
        readState: () => readTrayState(options.service),
        perform: (action) => this.#perform(action),
        onError: (error) => {
          options.say(`the tray could not do it: ${String(error)}`);
        },
        iconPath: (icon) => options.iconPath(trayFile(icon, process.platform)),
        systemLanguages: app.getPreferredSystemLanguages(),
      },
      state,
    );
    this.#closeIpc = openIpcDoor<IpcMainEvent | IpcMainInvokeEvent>({
      // Its listeners take Electron's own events, of which the door reads only what it declares.
      ipcMain: ipcMain as unknown as IpcMainLike,
      service: options.service,
      isOurs: (event) => event.senderFrame?.parent === null && isOurOrigin(event.senderFrame.url),
    });
  }

  /** Puts up tray and window. Electron must be ready. */
  static async open(options: DesktopOptions): Promise<Desktop> {
    const desktop = new Desktop(options, await readTrayState(options.service));
    const hasTray = await desktop.#lookForTray();
    if (!hasTray) options.say('no system tray was found: closing the window ends Sluice');
    if (!options.isHidden || !hasTray) desktop.showWindow();
    return desktop;
  }

  get trayView(): TrayView {
    return this.#tray.view;
  }

  get isWindowOpen(): boolean {
    return this.#window.isOpen;
  }

  /** Does what a click on a tray item does. */
  clickTray(id: string): Promise<void> {
    return this.#tray.click(id);
  }

  showWindow(): void {
    if (!this.#isEnding) this.#window.show();
  }

  /** Takes everything down but the program. Idempotent. */
  close(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    clearTimeout(this.#lookTimer);
    this.#closeIpc();
    this.#window.close();
    this.#tray.close();
  }

  /** Asked by the window: hides it when it can come back from the tray, otherwise ends. */
  #mayClose(): boolean {
    if (this.#isEnding) return true;
    if (this.#tray.isShown) this.#window.hide();
    else app.quit();
    return false;
  }

  async #lookForTray(): Promise<boolean> {
    this.#looks++;
    if (await hasTrayHost()) {
      if (!this.#isEnding) this.#tray.show();
      return true;
    }
    if (!this.#isEnding && this.#looks < TRAY_LOOKS_MAX) {
      this.#lookTimer = setTimeout(() => void this.#lookForTray(), TRAY_LOOK_EVERY_MS);
      this.#lookTimer.unref();
    }
    return false;
  }

  async #perform(action: TrayAction): Promise<void> {
    switch (action.kind) {
      case 'open':
        this.showWindow();
        break;
      case 'quit':
        app.quit();
        break;
      case 'resume':
        await this.#options.service.call('resume', {});
        break;
      case 'takeover':
        await this.#options.service.call('takeover', {});
        break;
      case 'restore':
        await this.#options.service.call('restore', {});
        break;
      case 'pause':
        await this.#options.service.call(
          'pause',
          action.minutes === undefined ? {} : { minutes: action.minutes },
        );
        break;
    }
  }
}

function isOurOrigin(url: string): boolean {
  return url.startsWith(`${UI_ORIGIN}/`);
}

async function readTrayState(service: ServiceClient): Promise<TrayState> {
  const status = await service.call('status', {});
  return {
    protection: status.protection,
    takeover: status.takeover,
    health: status.health,
    degradedReasons: status.degradedReasons,
    queries: status.totals.queries,
    blocked: status.totals.blocked,
    language: status.language,
  };
}
