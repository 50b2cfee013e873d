/**
 * Runs the owners' own tools: no shell, a time limit, bounded output. Used by the adapters, in the
 * app as well as in the guardian; child_process is loaded at the first command, because the
 * guardian normally never needs one.
 */

export interface CommandOptions {
  readonly input?: string;
  /** Default: COMMAND_MS. */
  readonly timeoutMs?: number;
}

/** Runs a program. @returns its stdout; @throws CommandError */
export type RunCommand = (
  file: string,
  args: readonly string[],
  options?: CommandOptions,
) => Promise<string>;

/** A command that failed; the message names it and holds the first line of its stderr. */
export class CommandError extends Error {
  /** ENOENT: the program is not there. */
  readonly code: string;

  constructor(message: string, code: string) {
    super(message);
    this.name = 'CommandError';
    this.code = code;
  }
}

/** An owner that takes longer hangs. Ended too early, on a busy machine, it does half its work. */
const COMMAND_MS = 5_000;
const OUTPUT_BYTES_MAX = 1024 * 1024;

export const runCommand: RunCommand = async (file, args, options = {}) => {
  const { execFile } = await import('node:child_process');
  return new Promise((resolve, reject) => {
    const limits = {
      timeout: options.timeoutMs ?? COMMAND_MS,
      killSignal: 'SIGKILL',
      maxBuffer: OUTPUT_BYTES_MAX,
      encoding: 'utf8',
      env: { ...process.env, LC_ALL: 'C', SYSTEMD_COLORS: '0', SYSTEMD_PAGER: '' },
    } as const;
    const child = execFile(file, [...args], limits, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(commandError(file, args, error, stderr));
    });
    // A program that ends without reading its input closes the pipe; its exit status says more.
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(options.input ?? '');
  });
};

interface ExecError extends Error {
  readonly code?: string | number | null;
  readonly killed?: boolean;
}

function commandError(
  file: string,
  args: readonly string[],
  error: ExecError,
  stderr: string,
): CommandError {
  const command = [file, ...args].join(' ').slice(0, 160);
  const code = String(error.code ?? 'TIMEOUT');
  if (code === 'ENOENT') return new CommandError(`${file} is not installed`, code);
  const said = stderr.trim().split('\n', 1)[0] ?? '';
  const why = error.killed === true ? 'did not end in time' : said || `ended with ${code}`;
  return new CommandError(`"${command}": ${why}`, code);
}
