/** The add-on compiled with AddressSanitizer, UBSan and a faulty sendmmsg, and a child to run it. */
import { execFileSync, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { compileNative } from '../../tools/build-native.ts';
import { missingForAddon } from './built-addon.ts';

const HERE = import.meta.dirname;

/** What sendmmsg does in the child: as the kernel does, now and then full, or now and then lost. */
export type Faults = 'off' | 'full' | 'drop';

export interface ChildResult {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** The sanitizer's library, to load before Node; null when the compiler brings none. */
function sanitizerLibrary(): string | null {
  const name = 'libasan.so';
  const path = execFileSync(process.env['CC'] ?? 'cc', [`-print-file-name=${name}`])
    .toString()
    .trim();
  return path !== name && existsSync(path) ? path : null;
}

/** For node:test's `skip`. */
export function missingForSanitizer(): string | false {
  if (missingForAddon !== false) return missingForAddon;
  return sanitizerLibrary() === null ? 'needs libasan; install with: apt-get install gcc' : false;
}

/** @returns path of the add-on in `folder`. @throws Error with the compiler's words */
export async function buildSanitized(folder: string): Promise<string> {
  const output = join(folder, 'udp.node');
  const failure = await compileNative({
    output,
    flags: [
      ...['-Werror', '-g', '-O1', '-fno-omit-frame-pointer', '-fsanitize=address,undefined'],
      ...['-fno-sanitize-recover=undefined', '-Wl,--wrap=sendmmsg'],
      resolve(HERE, 'faulty-sendmmsg.c'),
    ],
  });
  if (failure !== '') throw new Error(failure);
  return output;
}

/** Runs a script of this folder under the sanitizers. */
export function runSanitized(
  addonFile: string,
  faults: Faults,
  script: string,
  args: readonly string[],
): Promise<ChildResult> {
  const child = spawn(process.execPath, ['--expose-gc', resolve(HERE, script), ...args], {
    env: {
      ...process.env,
      NODE_OPTIONS: '',
      LD_PRELOAD: sanitizerLibrary() ?? '',
      // Node itself does not free everything at exit; only memory errors count.
      ASAN_OPTIONS: 'detect_leaks=0:abort_on_error=0:exitcode=86',
      UBSAN_OPTIONS: 'print_stacktrace=1:exitcode=87',
      SLUICE_UDP: 'native',
      SLUICE_UDP_ADDON: addonFile,
      SLUICE_FAULTS: faults,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (bytes: Buffer) => (stdout += bytes.toString()));
  child.stderr.on('data', (bytes: Buffer) => (stderr += bytes.toString()));
  return new Promise((done, fail) => {
    child.once('error', fail);
    child.once('close', (code, signal) => done({ code, signal, stdout, stderr }));
  });
}
