/**
 * Remembers where the window was. Used by window.ts in Electron's main thread.
 *
 * The file is a convenience: one that is missing or broken means the default size, and one that
 * cannot be written is not worth a word.
 */
import { readFileSync, renameSync, writeFileSync } from 'node:fs';

export interface Rectangle {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface WindowBounds {
  /** Size and place when not maximized, in device-independent pixels; null before the first. */
  readonly normal: Rectangle | null;
  readonly isMaximized: boolean;
}

export const WINDOW_SIZE = { width: 1_100, height: 760, minWidth: 480, minHeight: 400 } as const;

/** Part of the window that must lie on a screen for its place to be used again. */
const VISIBLE_MIN = 100;

export function readBounds(file: string): WindowBounds {
  try {
    const value = JSON.parse(readFileSync(file, 'utf8')) as Partial<WindowBounds> | null;
    const normal = value?.normal;
    return {
      normal: isRectangle(normal) ? normal : null,
      isMaximized: value?.isMaximized === true,
    };
  } catch {
    return { normal: null, isMaximized: false };
  }
}

/** Synchronous, since it is also called while the program ends; a file of 100 bytes. */
export function writeBounds(file: string, bounds: WindowBounds): void {
  try {
    writeFileSync(`${file}.new`, JSON.stringify(bounds));
    renameSync(`${file}.new`, file);
  } catch {
    // A full or read-only disk shows in the health report; the window's place does not matter.
  }
}

/**
 * Fits remembered bounds to the screens there are now: a monitor may be gone.
 *
 * @param workAreas  usable area of each screen
 * @returns          what to open with; without x and y the system places the window
 */
export function fitBounds(
  saved: Rectangle | null,
  workAreas: readonly Rectangle[],
): { width: number; height: number; x?: number; y?: number } {
  if (saved === null) return { width: WINDOW_SIZE.width, height: WINDOW_SIZE.height };
  const area = workAreas.find((candidate) => isReachable(saved, candidate));
  const widest = Math.max(WINDOW_SIZE.minWidth, ...workAreas.map(({ width }) => width));
  const highest = Math.max(WINDOW_SIZE.minHeight, ...workAreas.map(({ height }) => height));
  const size = {
    width: clamp(saved.width, WINDOW_SIZE.minWidth, area?.width ?? widest),
    height: clamp(saved.height, WINDOW_SIZE.minHeight, area?.height ?? highest),
  };
  return area === undefined ? size : { ...size, x: saved.x, y: saved.y };
}

/** The title bar must be within reach: its top edge on the screen, and enough of its width. */
function isReachable(window: Rectangle, area: Rectangle): boolean {
  const visibleWidth =
    Math.min(window.x + window.width, area.x + area.width) - Math.max(window.x, area.x);
  const isTopInside = window.y >= area.y && window.y <= area.y + area.height - VISIBLE_MIN;
  return visibleWidth >= VISIBLE_MIN && isTopInside;
}

function isRectangle(value: unknown): value is Rectangle {
  if (typeof value !== 'object' || value === null) return false;
  const fields = value as Record<string, unknown>;
  return ['x', 'y', 'width', 'height'].every((name) => Number.isInteger(fields[name]));
}

function clamp(value: number, min: number, max: number): number {
  return Math.max(min, Math.min(max, value));
}
