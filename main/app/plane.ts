/**
 * Starts the data plane on the wanted addresses, or on other ports when that is allowed.
 * Called by compose.ts in the main thread.
 */
import { AppError } from '../contract/errors.ts';
import { DataPlane } from '../dataplane/data-plane.ts';
import type { UnservedEndpoint } from '../dataplane/listeners.ts';
import type { Health } from '../control/process/health.ts';
import type { ComposeOptions } from './options.ts';
import type { Late } from './late.ts';

/** Ports tried, on the same address, when port 53 cannot be had and a fallback is allowed. */
const FALLBACK_PORTS = [5353, 15353];

interface Told {
  readonly health: Health;
  readonly late: Late;
}

export type PlaneOptions = Parameters<typeof DataPlane.start>[0];

/**
 * @param health  told when another port was taken, and of faults of the threads
 * @throws        AppError PORT_IN_USE, PORT_FORBIDDEN, ADDRESS_UNAVAILABLE
 */
export async function startPlane(
  options: ComposeOptions,
  listen: readonly string[],
  { health, late, ...known }: Omit<PlaneOptions, 'listen' | 'onFault'> & Told,
): Promise<DataPlane> {
  const rest = {
    ...known,
    onFault: (reason: string): void => {
      health.fault(reason);
      late.service?.stateChanged();
      options.onProgress?.(reason);
    },
    onUnserved: (unserved: readonly UnservedEndpoint[]): void => {
      const sentences = unserved.map(unservedSentence);
      for (const sentence of sentences) options.onProgress?.(sentence);
      health.setProblem('listen', sentences.length === 0 ? null : sentences.join(' '));
      late.service?.stateChanged();
    },
  };
  try {
    return await DataPlane.start({ ...rest, listen: [...listen] });
  } catch (error) {
    if (options.portFallback !== true || !isPortTrouble(error)) throw error;
    let last: unknown = error;
    for (const port of FALLBACK_PORTS) {
      const other = listen.map((text) => text.replace(/:53$/, `:${String(port)}`));
      if (other.every((text, index) => text === listen[index])) break;
      options.onProgress?.(`${(last as AppError).message}; trying port ${String(port)}`);
      try {
        const plane = await DataPlane.start({ ...rest, listen: other });
        const { message } = error as AppError;
        health.setNotice('port', `DNS is answered on port ${String(port)} instead: ${message}.`);
        return plane;
      } catch (next) {
        if (!isPortTrouble(next)) throw next;
        last = next;
      }
    }
    throw last;
  }
}

function unservedSentence({ endpoint, reason }: UnservedEndpoint): string {
  return `DNS is not answered on ${endpoint}: ${reason}. It is tried again by itself.`;
}

export function isPortTrouble(error: unknown): boolean {
  return (
    error instanceof AppError && (error.code === 'PORT_IN_USE' || error.code === 'PORT_FORBIDDEN')
  );
}
