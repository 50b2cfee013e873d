/**
 * Finds an Electron executable that works on this machine. Called by start.ts, pack.ts and the
 * desktop tests.
 *
 * Order: the runtime that the npm package `electron` has fetched or can fetch; where its host
 * cannot be reached, the stand-in (electron-stand-in.ts). Each is asked for its versions before it
 * is used, which also shows whether the system has the libraries it needs.
 */
import { cacheFolder } from './cache-folder.ts';
import { downloadElectron, downloadedElectron } from './electron-download.ts';
import { standInElectron, standInFits } from './electron-stand-in.ts';
import { runTool } from './run-tool.ts';
import { SQLITE_NAPI_VERSION, sqliteBindingNapi9 } from './sqlite-binding.ts';

/** Debian packages without which Electron does not start. */
export const ELECTRON_PACKAGES = ['libgtk-3-0', 'libnss3', 'libasound2', 'libgbm1'] as const;

/** An Electron that has been started once. */
export interface ElectronRuntime {
  /** Absolute path; takes an app folder as argument. */
  readonly executable: string;
  readonly electronVersion: string;
  /** better-sqlite3 binding it needs, for SLUICE_SQLITE_BINDING; null for the package's own. */
  readonly sqliteBinding: string | null;
  /** The old runtime of electron-stand-in.ts. */
  readonly isStandIn: boolean;
}

/** Why there is none, as the end of a sentence. */
export interface NoRuntime {
  readonly reason: string;
}

export async function findElectron(
  cache: string = cacheFolder(),
): Promise<ElectronRuntime | NoRuntime> {
  try {
    const current = (await downloadedElectron()) ?? (await downloadElectron(cache));
    const executable = current ?? (await standIn(cache));
    if (executable === null) {
      return {
        reason: 'Electron cannot be fetched here, and a stand-in exists for Linux x64 only',
      };
    }
    return await prove(executable, cache, current === null);
  } catch (error) {
    return { reason: error instanceof Error ? error.message : String(error) };
  }
}

/** Lines for whoever starts it, at every start; none for a current runtime. */
export function runtimeWarnings({ isStandIn, electronVersion }: ElectronRuntime): string[] {
  if (!isStandIn) return [];
  return [
    `WARNING: Electron ${electronVersion} is a stand-in without security updates, for trying Sluice out`,
    "the current one is fetched at a start that can reach Electron's download place (ELECTRON_MIRROR " +
      'names another one); until then "npm start -- --headless" and your browser are safer',
  ];
}

/** Environment in which `runtime` is to be started. */
export function runtimeEnvironment(runtime: ElectronRuntime): NodeJS.ProcessEnv {
  const env = { ...process.env };
  delete env['ELECTRON_RUN_AS_NODE'];
  if (runtime.sqliteBinding !== null) env['SLUICE_SQLITE_BINDING'] = runtime.sqliteBinding;
  return env;
}

/** Chromium switches that this machine asks for. */
export function runtimeSwitches(env: NodeJS.ProcessEnv = process.env): string[] {
  const switches: string[] = [];
  // Chromium's sandbox refuses to work for root.
  if (process.getuid?.() === 0) switches.push('--no-sandbox');
  if (!env['DISPLAY'] && env['WAYLAND_DISPLAY']) switches.push('--ozone-platform=wayland');
  return switches;
}

async function standIn(cache: string): Promise<string | null> {
  if (!standInFits()) return null;
  // First what may lack a compiler: nobody should wait for the download in vain.
  await sqliteBindingNapi9(cache);
  return await standInElectron(cache);
}

async function prove(
  executable: string,
  cache: string,
  isStandIn: boolean,
): Promise<ElectronRuntime | NoRuntime> {
  const env = { ...process.env, ELECTRON_RUN_AS_NODE: '1' };
  const result = await runTool(executable, ['-p', 'JSON.stringify(process.versions)'], { env });
  if (result.code !== 0) {
    const install =
      process.platform === 'linux'
        ? `; install with: apt-get install ${ELECTRON_PACKAGES.join(' ')}`
        : '';
    return { reason: `Electron does not start here (${result.tail})${install}` };
  }
  const versions = JSON.parse(result.stdout) as { electron: string; napi: string };
  const needsBinding = Number(versions.napi) < SQLITE_NAPI_VERSION;
  return {
    executable,
    electronVersion: versions.electron,
    sqliteBinding: needsBinding ? await sqliteBindingNapi9(cache) : null,
    isStandIn,
  };
}
