/**
 * Ends this process when npm, which started it, is gone. Loaded by start.ts and headless.mjs.
 *
 * npm hands a signal to the shell between it and us only, which ends and leaves us behind. Then our
 * parent becomes another process; a signal to ourselves does what npm's would have done. On Windows
 * a parent never changes, and consoles end their processes together.
 */
const LOOK_MS = 500;

if (process.env.npm_lifecycle_event !== undefined) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_MS);
  timer.unref();
}
