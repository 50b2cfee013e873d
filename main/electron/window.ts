/**
 * The program's one window. Owned by desktop.ts in Electron's main thread.
 *
 * The page is shut in: sandboxed, isolated, without Node; it can load nothing but the built files
 * under app://sluice/, go nowhere else, open nothing and ask for no permission. Whatever happens to
 * its process, DNS goes on in the program's own threads; a crashed page is loaded again.
 */
import { BrowserWindow, nativeTheme, protocol, screen, session } from 'electron';
import { UI_ORIGIN, UI_SCHEME, uiHandler } from './ui-protocol.ts';
import { WINDOW_SIZE, fitBounds, readBounds, writeBounds } from './window-bounds.ts';

/** Reloads after crashes before the window is left as it is, and the time after which they count anew. */
const RELOADS_MAX = 5;
const RELOADS_FORGOTTEN_MS = 10 * 60_000;
const RELOAD_DELAY_MS = 500;
const SAVE_DELAY_MS = 1_000;
/** The one permission given: writing text to the clipboard after a click. */
const COPYING = 'clipboard-sanitized-write';

export interface WindowOptions {
  readonly preloadFile: string;
  readonly iconFile: string;
  /** Remembers size and place. */
  readonly boundsFile: string;
  readonly hasDevTools: boolean;
  /** Asked when a person closes the window: true lets it close, false leaves it to the owner. */
  readonly mayClose: () => boolean;
}

/** Must be called before Electron is ready. */
export function registerUiScheme(): void {
  protocol.registerSchemesAsPrivileged([
    { scheme: UI_SCHEME, privileges: { standard: true, secure: true, supportFetchAPI: true } },
  ]);
}

/** Confines everything that pages may load and ask for. Once, when Electron is ready. */
export function confinePages(uiFolder: string): void {
  const pages = session.defaultSession;
  pages.protocol.handle(UI_SCHEME, uiHandler(uiFolder));
  pages.setPermissionRequestHandler((_page, permission, answer) => {
    answer(permission === COPYING);
  });
  pages.setPermissionCheckHandler((_page, permission) => permission === COPYING);
  pages.webRequest.onBeforeRequest((details, answer) => {
    const url = details.url.replace(/^blob:/, ''); // of our page only: a file to be saved
    const isOurs = url.startsWith(`${UI_ORIGIN}/`) || /^(data|devtools):/.test(details.url);
    answer({ cancel: !isOurs });
  });
}

export class MainWindow {
  readonly #options: WindowOptions;
  #window: BrowserWindow | null = null;
  #crashes = 0;
  #crashedMs = 0;
  #saveTimer: NodeJS.Timeout | undefined;

  constructor(options: WindowOptions) {
    this.#options = options;
  }

  get isOpen(): boolean {
    return this.#window !== null;
  }

  /** Opens the window, or brings the open one to the front. */
  show(): void {
    const window = (this.#window ??= this.#open());
    if (window.isMinimized()) window.restore();
    window.show();
    window.focus();
  }

  hide(): void {
    this.#save();
    this.#window?.hide();
  }

  /** Closes the window for good. */
  close(): void {
    clearTimeout(this.#saveTimer);
    this.#save();
    this.#window?.destroy();
    this.#window = null;
  }

  #open(): BrowserWindow {
    const saved = readBounds(this.#options.boundsFile);
    const workAreas = screen.getAllDisplays().map((display) => display.workArea);
    const window = new BrowserWindow({
      ...fitBounds(saved.normal, workAreas),
      minWidth: WINDOW_SIZE.minWidth,
      minHeight: WINDOW_SIZE.minHeight,
      show: false,
      title: 'Sluice',
      icon: this.#options.iconFile,
      backgroundColor: nativeTheme.shouldUseDarkColors ? '#111418' : '#ffffff',
      autoHideMenuBar: true,
      webPreferences: {
        preload: this.#options.preloadFile,
        sandbox: true,
        contextIsolation: true,
        nodeIntegration: false,
        webSecurity: true,
        webviewTag: false,
        spellcheck: false,
        devTools: this.#options.hasDevTools,
      },
    });
    if (saved.isMaximized) window.maximize();
    this.#confine(window);
    this.#watch(window);
    void this.#load(window);
    return window;
  }

  #confine(window: BrowserWindow): void {
    const page = window.webContents;
    page.setWindowOpenHandler(() => ({ action: 'deny' }));
    for (const event of ['will-navigate', 'will-frame-navigate', 'will-redirect'] as const) {
      page.on(event as 'will-navigate', (details) => {
        if (!details.url.startsWith(`${UI_ORIGIN}/`)) details.preventDefault();
      });
    }
    page.on('will-attach-webview', (event) => {
      event.preventDefault();
    });
    page.on('before-input-event', (_event, input) => {
      if (input.type !== 'keyDown' || input.key !== 'F12') return;
      if (this.#options.hasDevTools) page.toggleDevTools();
    });
  }

  #watch(window: BrowserWindow): void {
    window.on('close', (event) => {
      if (!this.#options.mayClose()) event.preventDefault();
    });
    window.on('closed', () => {
      this.#window = null;
    });
    const save = (): void => {
      clearTimeout(this.#saveTimer);
      this.#saveTimer = setTimeout(() => {
        this.#save();
      }, SAVE_DELAY_MS);
    };
    window.on('resize', save);
    window.on('move', save);
    window.webContents.on('render-process-gone', (_event, details) => {
      if (details.reason !== 'clean-exit') this.#reload(window);
    });
  }

  /** Loads the page again after a crash; gives up when it crashes again and again. */
  #reload(window: BrowserWindow): void {
    const nowMs = Date.now();
    if (nowMs - this.#crashedMs > RELOADS_FORGOTTEN_MS) this.#crashes = 0;
    this.#crashedMs = nowMs;
    if (++this.#crashes > RELOADS_MAX) return;
    setTimeout(() => {
      if (!window.isDestroyed()) void this.#load(window);
    }, RELOAD_DELAY_MS * this.#crashes);
  }

  async #load(window: BrowserWindow): Promise<void> {
    try {
      await window.loadURL(`${UI_ORIGIN}/`);
    } catch {
      // A page that crashed or was closed while loading; the events above deal with it.
    }
  }

  #save(): void {
    const window = this.#window;
    if (window === null || window.isDestroyed()) return;
    writeBounds(this.#options.boundsFile, {
      normal: window.getNormalBounds(),
      isMaximized: window.isMaximized(),
    });
  }
}
