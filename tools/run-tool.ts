/**
 * Runs a tool to its end and keeps what it printed, for the launch scripts: npm, node-gyp, tar,
 * Electron's own installer. Nothing goes through a shell.
 */
import { spawn } from 'node:child_process';

export interface ToolResult {
  /** Exit code; null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  /** The last lines of stdout and stderr together, for the error message. */
  readonly tail: string;
}

export interface ToolOptions {
  readonly cwd?: string;
  readonly env?: NodeJS.ProcessEnv;
  /** Ends the tool when aborted; the result has code null then. */
  readonly signal?: AbortSignal;
}

const OUTPUT_MAX = 64 * 1024;
const TAIL_LINES = 12;

/** Resolves with the result whatever the exit code; rejects only when the tool cannot be started. */
export function runTool(
  command: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<ToolResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd: options.cwd,
      env: options.env ?? process.env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let stdout = '';
    let output = '';
    child.stdout.on('data', (bytes: Buffer) => {
      stdout = (stdout + bytes.toString()).slice(-OUTPUT_MAX);
      output = (output + bytes.toString()).slice(-OUTPUT_MAX);
    });
    child.stderr.on('data', (bytes: Buffer) => {
      output = (output + bytes.toString()).slice(-OUTPUT_MAX);
    });
    const abort = (): void => void child.kill('SIGKILL');
    options.signal?.addEventListener('abort', abort, { once: true });
    child.once('error', reject);
    child.once('close', (code) => {
      options.signal?.removeEventListener('abort', abort);
      const tail = output.trimEnd().split('\n').slice(-TAIL_LINES).join('\n');
      resolve({ code, stdout, tail });
    });
  });
}

/** As runTool, but a non-zero exit is an error that names the action and shows the last lines. */
export async function runToolOrThrow(
  action: string,
  command: string,
  args: readonly string[],
  options: ToolOptions = {},
): Promise<ToolResult> {
  const result = await runTool(command, args, options);
  if (result.code === 0) return result;
  throw new Error(`${action} failed (exit ${String(result.code)}):\n${result.tail}`);
}

/** How to start npm: the one that started us when there is one, else the one on the path. */
export function npmCommand(env: NodeJS.ProcessEnv = process.env): [string, ...string[]] {
  const script = env['npm_execpath'];
  if (script?.endsWith('.js')) return [process.execPath, script];
  return [process.platform === 'win32' ? 'npm.cmd' : 'npm'];
}
