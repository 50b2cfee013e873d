/**
 * Whether this is an installed program, and not a checkout. Variables of the environment that name
 * native files to load, or hold the program at a step, are for development and tests; an installed
 * program ignores them, because whoever sets them would run code with its rights.
 */

/** In a package of the desktop app, and where tools/install-system.ts puts the program. */
const INSTALLED_AT = /\/app\.asar(\.unpacked)?\/|\/lib\/sluice(-[^/]*)?\/dist\//;

/** The value of a development variable; undefined in an installed program. */
export function developmentVariable(
  name: `SLUICE_${string}`,
  environment: NodeJS.ProcessEnv = process.env,
  here: string = import.meta.url,
): string | undefined {
  return INSTALLED_AT.test(here) ? undefined : environment[name];
}
