/**
 * Whether the desktop has a place for tray icons. Called by desktop.ts at start and when the window
 * is closed. macOS and Windows always have one; a Linux desktop has one when somebody hosts
 * StatusNotifier items, which is asked over the session bus with the tool that comes with it.
 */
import { execFile } from 'node:child_process';

const ASK_MS = 1_000;
const WATCHER = 'org.kde.StatusNotifierWatcher';

/** Resolves within about a second; false when the bus or its tool is missing. */
export function hasTrayHost(platform: NodeJS.Platform = process.platform): Promise<boolean> {
  if (platform !== 'linux') return Promise.resolve(true);
  const call = [
    '--session',
    '--print-reply=literal',
    `--reply-timeout=${String(ASK_MS)}`,
    `--dest=${WATCHER}`,
    '/StatusNotifierWatcher',
    'org.freedesktop.DBus.Properties.Get',
    `string:${WATCHER}`,
    'string:IsStatusNotifierHostRegistered',
  ];
  return new Promise((resolve) => {
    execFile('dbus-send', call, { timeout: 2 * ASK_MS }, (error, stdout) => {
      resolve(error === null && stdout.includes('true'));
    });
  });
}
