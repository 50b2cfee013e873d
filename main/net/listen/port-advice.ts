/**
 * What a person can do about a port that is taken, in one sentence for the text of PORT_IN_USE. Nothing
 * of it is done for them: no other program is ever ended. Used by bind-error.ts.
 */
import { isPortHeld, type PortHolder } from './port-holder.ts';
import { formatEndpoint } from '../server-address.ts';

/** dns: a listener for queries. http: the door of the window and the command line. */
export type ListenerPurpose = 'dns' | 'http';

/** Last part of the loopback addresses that are offered. */
const OFFERED_FIRST = 2;
const OFFERED_LAST = 9;

/**
 * @param holder  null when it cannot be seen
 * @param proc    for tests
 */
export function portTakenAdvice(
  holder: PortHolder | null,
  purpose: ListenerPurpose,
  address: string,
  port: number,
  proc = '/proc',
): string {
  const stop = `stop ${holder === null ? 'the other program' : howToStop(holder)}`;
  if (holder?.pid === process.pid) return 'name each address to listen on once';
  if (purpose === 'http') return `choose another address with --http, or ${stop}`;
  const other = freeLoopback(port, proc);
  const ways = [
    other === null
      ? 'choose another port with --listen'
      : `listen on another loopback address with --listen ${formatEndpoint(other, port)}`,
    `to go on asking what listens there, add "${formatEndpoint(address, port)}" to dns.upstreams`,
    `or ${stop}`,
  ];
  return ways.join('; ');
}

function howToStop({ name, pid, unit }: PortHolder): string {
  return unit === ''
    ? `${name} (process ${String(pid)})`
    : `${name} with "sudo systemctl disable --now ${unit}"`;
}

/** A loopback address on which nobody holds the port; null when one program holds it on all. */
function freeLoopback(port: number, proc: string): string | null {
  if (process.platform === 'darwin') return null; // it has 127.0.0.1 only
  for (let last = OFFERED_FIRST; last <= OFFERED_LAST; last++) {
    const address = `127.0.0.${String(last)}`;
    const isHeld = (['udp', 'tcp'] as const).some((one) => isPortHeld(one, address, port, proc));
    if (!isHeld) return address;
  }
  return null;
}
