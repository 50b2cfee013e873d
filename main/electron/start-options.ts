/**
 * The desktop app's own command line, among the switches that Chromium reads: `--data-dir DIR`,
 * `--config FILE`, `--listen ADDRESS` (several), `--http ADDRESS` as without a window, and
 * `--hidden`. Read by main.ts.
 */
import { resolve } from 'node:path';

export interface StartOptions {
  /** Absolute; null for the usual one. */
  readonly dataDirectory: string | null;
  /** Absolute; null for sluice.yaml in the data folder. */
  readonly configFile: string | null;
  /** In place of dns.listen; empty for the settings' own. */
  readonly listen: readonly string[];
  /** In place of http.listen; null for the settings' own. */
  readonly http: string | null;
  /** Start without a window when there is a tray. */
  readonly isHidden: boolean;
}

/** @param argv  all arguments, without the executable; what is not ours is left to Chromium */
export function readStartOptions(argv: readonly string[], cwd: string): StartOptions {
  const path = (name: string): string | null => {
    const value = valuesOf(argv, name).at(-1);
    return value === undefined ? null : resolve(cwd, value);
  };
  return {
    dataDirectory: path('--data-dir'),
    configFile: path('--config'),
    listen: valuesOf(argv, '--listen'),
    http: valuesOf(argv, '--http').at(-1) ?? null,
    isHidden: argv.includes('--hidden'),
  };
}

/** The values of `--name value` and `--name=value`, in order. */
function valuesOf(argv: readonly string[], name: string): string[] {
  return argv.flatMap((argument, index) => {
    if (argument.startsWith(`${name}=`)) return [argument.slice(name.length + 1)];
    return argument === name ? argv.slice(index + 1, index + 2) : [];
  });
}
