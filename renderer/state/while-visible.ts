/**
 * Runs something only while the window can be seen: a minimised window, or one closed to the tray,
 * costs nothing.
 *
 * @param start  begins it and returns how to end it
 * @returns      ends it for good
 */
export function whileVisible(start: () => () => void): () => void {
  let stop: (() => void) | null = null;
  function follow(): void {
    if (document.visibilityState === 'visible') {
      stop ??= start();
    } else {
      stop?.();
      stop = null;
    }
  }
  document.addEventListener('visibilitychange', follow);
  follow();
  return () => {
    document.removeEventListener('visibilitychange', follow);
    stop?.();
    stop = null;
  };
}
