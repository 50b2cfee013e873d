/**
 * Runs the process that reads an import, and bounds its memory, its time and its answer: what a
 * thread would allocate outside of its heap (a database's pages, for one) nothing else can bound.
 * Called by importer.ts in the main thread.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { AppError, fromWire, type WireError } from '../../contract/errors.ts';
import type { ImportSection } from '../../contract/methods/import.ts';
import { LIMITS } from '../../contract/limits.ts';
import { threadEntry } from '../../contract/thread-entry.ts';
import type { NotTaken } from './draft/draft.ts';
import type { Taken } from './import-plan.ts';

export interface ImportJob {
  /** What a person called the file. */
  readonly name: string;
  readonly only: readonly ImportSection[] | undefined;
  /** Text of the settings file. */
  readonly settings: string;
  /** Whether lists may be files on this machine. */
  readonly takesFiles: boolean;
  /** A folder for copies; the caller removes it. */
  readonly scratch: string;
}

export interface ImportDone {
  readonly program: string;
  readonly taken: Taken[];
  readonly notTaken: NotTaken[];
  /** Text of the settings file with everything that is taken. */
  readonly settings: string;
}

export type ImportMessage =
  | { readonly kind: 'stage'; readonly stage: string }
  | { readonly kind: 'failed'; readonly error: WireError }
  | ({ readonly kind: 'done' } & ImportDone);

export interface ImportRunOptions {
  onStage(stage: string): void;
  /** Ends the process at once. */
  readonly signal: AbortSignal;
  /** Default LIMITS.importMs and LIMITS.importMemoryMiB; others in tests. */
  readonly timeMs?: number;
  readonly memoryMiB?: number;
}

const CPU_SECONDS = String((2 * LIMITS.importMs) / 1_000);
/** Exit status by which a shell tells of SIGABRT. */
const ABORTED = 134;
const WATCH_MS = 100;
const PAGE_BYTES = 4_096;
const LINE_FEED = 0x0a;

/**
 * @param file  descriptor of a regular file; the caller closes it
 * @throws AppError IMPORT_REFUSED when the file cannot be read, or not within the bounds; what the
 *         settings' check throws
 */
export async function runImport(
  file: number,
  job: ImportJob,
  options: ImportRunOptions,
): Promise<ImportDone> {
  const child = start(file);
  const end = (why: string): void => {
    failure ??= why;
    child.kill('SIGKILL');
  };
  let failure: string | undefined;
  const timeMs = options.timeMs ?? LIMITS.importMs;
  const timer = setTimeout(end, timeMs, `reading it took longer than ${String(timeMs / 1000)} s`);
  const watch = setInterval(() => {
    void watchMemory(child, options.memoryMiB ?? LIMITS.importMemoryMiB, end);
  }, WATCH_MS);
  const onAbort = (): void => {
    end('it was stopped');
  };
  options.signal.addEventListener('abort', onAbort, { once: true });
  if (options.signal.aborted) onAbort();
  try {
    const reply = await conversation(child, job, options, end);
    if (reply?.kind === 'done' && failure === undefined) return reply;
    if (reply?.kind === 'failed' && failure === undefined) throw fromWire(reply.error);
    throw new AppError('IMPORT_REFUSED', `${job.name}: ${failure ?? 'reading it broke off'}`);
  } finally {
    clearTimeout(timer);
    clearInterval(watch);
    options.signal.removeEventListener('abort', onAbort);
  }
}

function start(file: number): ChildProcess {
  const entry = fileURLToPath(threadEntry('control/import/import-process'));
  const words = [`--max-old-space-size=${String(LIMITS.importHeapMiB)}`, '--no-warnings', entry];
  const { PATH, SystemRoot, SLUICE_SQLITE_BINDING } = process.env;
  // Should this program die, the other one does not run on for ever.
  const [program, ...rest] =
    process.platform === 'win32'
      ? [process.execPath, ...words]
      : ['/bin/sh', '-c', 'ulimit -t "$0"; exec "$@"', CPU_SECONDS, process.execPath, ...words];
  return spawn(program as string, rest, {
    stdio: ['pipe', 'pipe', 'ignore', file],
    windowsHide: true,
    env: {
      ELECTRON_RUN_AS_NODE: '1',
      ...(PATH !== undefined && { PATH }),
      ...(SystemRoot !== undefined && { SystemRoot }),
      ...(SLUICE_SQLITE_BINDING !== undefined && { SLUICE_SQLITE_BINDING }),
    },
  });
}

/** Resolves when the process has ended, with its last word; null when it said none. */
function conversation(
  child: ChildProcess,
  job: ImportJob,
  options: Pick<ImportRunOptions, 'onStage'>,
  end: (why: string) => void,
): Promise<ImportMessage | null> {
  return new Promise((resolve) => {
    let last: ImportMessage | null = null;
    let parts: Buffer[] = [];
    let length = 0;
    child.stdout?.on('data', (bytes: Buffer) => {
      length += bytes.length;
      if (length > LIMITS.importReplyBytesMax) {
        end('it holds more than the settings can');
        return;
      }
      parts.push(bytes);
      if (bytes.at(-1) !== LINE_FEED) return;
      for (const line of Buffer.concat(parts).toString('utf8').trimEnd().split('\n')) {
        const message = JSON.parse(line) as ImportMessage;
        if (message.kind === 'stage') options.onStage(message.stage);
        else last = message;
      }
      parts = [];
      length = 0;
    });
    child.on('error', (error) => {
      end(`reading it could not be started: ${error.message}`);
      resolve(null);
    });
    child.on('close', (code, signal) => {
      // V8 ends a process so whose heap is full.
      if (signal === 'SIGABRT' || signal === 'SIGTRAP' || code === ABORTED) {
        end(`reading it took more than ${String(LIMITS.importHeapMiB)} MiB of memory`);
      }
      resolve(last);
    });
    child.stdin?.on('error', () => undefined); // it ended before it had read its job
    child.stdin?.end(JSON.stringify(job));
  });
}

/** Where the system shows it; elsewhere the heaps' own bounds hold. */
async function watchMemory(
  { pid }: ChildProcess,
  mostMiB: number,
  end: (why: string) => void,
): Promise<void> {
  if (pid === undefined || process.platform !== 'linux') return;
  const pages = await readFile(`/proc/${String(pid)}/statm`, 'utf8').catch(() => '');
  const mib = (Number(pages.split(' ')[1] ?? 0) * PAGE_BYTES) / 1024 / 1024;
  if (mib > mostMiB) end(`reading it took more than ${String(mostMiB)} MiB of memory`);
}
