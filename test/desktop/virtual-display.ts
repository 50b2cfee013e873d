/** A screen and a session bus of the test's own, so that no window shows up on a real desktop. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

export interface VirtualDisplay {
  /** DISPLAY and DBUS_SESSION_BUS_ADDRESS for programs that are to run in it. */
  readonly env: NodeJS.ProcessEnv;
  close(): Promise<void>;
}

/** Starts Xvfb and dbus-daemon. Both choose a free number and address by themselves. */
export async function openDisplay(): Promise<VirtualDisplay> {
  const screen = ['-screen', '0', '1400x1000x24', '-nolisten', 'tcp'];
  const server = await startAndRead('Xvfb', ['-displayfd', '1', ...screen]);
  const bus = await startAndRead('dbus-daemon', ['--session', '--nofork', '--print-address=1']);
  const env: NodeJS.ProcessEnv = {
    ...process.env,
    DISPLAY: `:${server.line}`,
    DBUS_SESSION_BUS_ADDRESS: bus.line,
  };
  delete env['WAYLAND_DISPLAY'];
  return {
    env,
    close: async () => {
      await Promise.all([stop(bus.child), stop(server.child)]);
    },
  };
}

async function startAndRead(
  command: string,
  args: readonly string[],
): Promise<{ child: ChildProcess; line: string }> {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child, 'spawn');
  const line = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).once('line', resolve);
    child.once('exit', (code) => {
      reject(new Error(`${command} ended with ${String(code)}`));
    });
  });
  return { child, line };
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}
