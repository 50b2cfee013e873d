/**
 * Short messages at the foot of the window, each with at most one way back.
 */
import { describeError } from '../client/call-error.ts';

const shownMs = 8_000;
const toastsMax = 3;

export interface Toast {
  readonly id: number;
  readonly text: string;
  readonly tone: 'plain' | 'bad';
  /** Takes back what the message tells; null when that cannot be. */
  readonly undo: (() => Promise<void>) | null;
}

export class Toasts {
  #items = $state.raw<readonly Toast[]>([]);
  #nextId = 1;
  #isHeld = false;

  get items(): readonly Toast[] {
    return this.#items;
  }

  /** Shows a message; the oldest goes when there are too many. */
  show(text: string, undo: Toast['undo'] = null): void {
    this.#add({ id: this.#nextId++, text, tone: 'plain', undo });
  }

  fail(text: string): void {
    this.#add({ id: this.#nextId++, text, tone: 'bad', undo: null });
  }

  dismiss(id: number): void {
    this.#items = this.#items.filter((toast) => toast.id !== id);
  }

  /** Takes back what a message tells, and tells when that fails. */
  async undo(toast: Toast): Promise<void> {
    this.dismiss(toast.id);
    try {
      await toast.undo?.();
    } catch (error) {
      this.fail(describeError(error));
    }
  }

  /** While held (pointed at, or focused), no message goes away by itself. */
  hold(isHeld: boolean): void {
    this.#isHeld = isHeld;
  }

  #add(toast: Toast): void {
    this.#items = [...this.#items, toast].slice(-toastsMax);
    this.#expireLater(toast.id);
  }

  #expireLater(id: number): void {
    setTimeout(() => {
      if (this.#isHeld && this.#items.some((toast) => toast.id === id)) this.#expireLater(id);
      else this.dismiss(id);
    }, shownMs);
  }
}
