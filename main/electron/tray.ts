/**
 * The tray icon and its menu. Owned by desktop.ts in Electron's main thread.
 *
 * The controller keeps the view (tray-model.ts) up to date whether or not an icon can be shown;
 * the icon only draws it. The menu is rebuilt only when its text changes, since rebuilding closes
 * an open menu on Linux.
 */
import { Menu, Tray, nativeImage, type MenuItemConstructorOptions } from 'electron';
import { CATALOGUE } from '../texts/catalogue.ts';
import { chooseLanguage } from '../texts/language/language.ts';
import {
  trayItem,
  trayView,
  type TrayAction,
  type TrayIcon,
  type TrayState,
  type TrayView,
} from './tray-model.ts';

const REFRESH_EVERY_MS = 1_000;

export interface TrayOptions {
  /** Reads the state; a failure leaves the tray as it is. */
  readonly readState: () => Promise<TrayState>;
  readonly perform: (action: TrayAction) => Promise<void>;
  /** Told of a click that failed; there is nobody else to tell. */
  readonly onError: (error: unknown) => void;
  readonly iconPath: (icon: TrayIcon) => string;
  /** The person's, as BCP 47 tags in order of preference. */
  readonly systemLanguages: readonly string[];
}

export class TrayController {
  readonly #options: TrayOptions;
  readonly #timer: NodeJS.Timeout;
  #view: TrayView;
  #icon: Tray | null = null;
  #drawn = { icon: '', menu: '', tooltip: '' };

  constructor(options: TrayOptions, state: TrayState) {
    this.#options = options;
    this.#view = this.#viewOf(state);
    this.#timer = setInterval(() => {
      // A state that cannot be read shows in the window; the tray keeps the last one.
      this.refresh().catch(() => undefined);
    }, REFRESH_EVERY_MS);
    this.#timer.unref();
  }

  /** What the tray shows, or would show. */
  get view(): TrayView {
    return this.#view;
  }

  get isShown(): boolean {
    return this.#icon !== null;
  }

  /** Puts the icon into the system's tray; harmless when it is there. */
  show(): void {
    if (this.#icon !== null) return;
    this.#icon = new Tray(this.#image());
    this.#icon.on('click', () => {
      this.#perform({ kind: 'open' }).catch(this.#options.onError);
    });
    this.#drawn = { icon: this.#view.icon, menu: '', tooltip: '' };
    this.#draw();
  }

  /** Does what a click on the item of that id does. */
  async click(id: string): Promise<void> {
    const { action } = trayItem(this.#view, id);
    if (action !== null) await this.#perform(action);
  }

  async refresh(): Promise<void> {
    this.#view = this.#viewOf(await this.#options.readState());
    this.#draw();
  }

  close(): void {
    clearInterval(this.#timer);
    this.#icon?.destroy();
    this.#icon = null;
  }

  #viewOf(state: TrayState): TrayView {
    const language = chooseLanguage(state.language, this.#options.systemLanguages);
    return trayView(state, formatTime, CATALOGUE[language]);
  }

  async #perform(action: TrayAction): Promise<void> {
    try {
      await this.#options.perform(action);
    } finally {
      // Also after a failure: the state says why, and the tick has to go back.
      if (action.kind !== 'open' && action.kind !== 'quit') await this.refresh();
    }
  }

  #draw(): void {
    const icon = this.#icon;
    if (icon === null) return;
    const view = this.#view;
    const menu = JSON.stringify(view.groups);
    if (view.icon !== this.#drawn.icon) icon.setImage(this.#image());
    if (view.tooltip !== this.#drawn.tooltip) icon.setToolTip(view.tooltip);
    if (menu !== this.#drawn.menu) icon.setContextMenu(Menu.buildFromTemplate(this.#template()));
    this.#drawn = { icon: view.icon, menu, tooltip: view.tooltip };
  }

  #image(): Electron.NativeImage {
    const image = nativeImage.createFromPath(this.#options.iconPath(this.#view.icon));
    // macOS draws template images in the colour of its menu bar.
    image.setTemplateImage(process.platform === 'darwin');
    return image;
  }

  #template(): MenuItemConstructorOptions[] {
    return this.#view.groups.flatMap((group, index) => [
      ...(index === 0 ? [] : [{ type: 'separator' } as const]),
      ...group.map((item): MenuItemConstructorOptions => ({
        id: item.id,
        // An ampersand would mark the letter after it as the item's key.
        label: item.label.replaceAll('&', '&&'),
        enabled: item.action !== null,
        ...(item.isChecked === null ? {} : { type: 'checkbox', checked: item.isChecked }),
        click: () => {
          this.click(item.id).catch(this.#options.onError);
        },
      })),
    ]);
  }
}

function formatTime(timeMs: number): string {
  return new Date(timeMs).toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit' });
}
