/**
 * Tells whether a connection on this machine comes from a process of the same user, or of root.
 *
 * Linux lists every socket with its owner in /proc/net/tcp and tcp6; the client's end of a loopback
 * connection is in there too. Only an established socket that a process still holds counts: the
 * kernel shows owner 0 for one that was closed, and that must not pass for root. Elsewhere the
 * answer is always no, and the token is needed. Source: proc_pid_net(5).
 */
import { readFile } from 'node:fs/promises';
import { isIPv4, type Socket } from 'node:net';

const ESTABLISHED = '01';

/** The ends of a connection as this process sees them. */
export type Ends = Pick<Socket, 'localAddress' | 'localPort' | 'remoteAddress' | 'remotePort'>;

/** @param files  for tests; the socket tables to look in */
export async function isOwnPeer(
  ends: Ends,
  files: readonly string[] = ['/proc/net/tcp', '/proc/net/tcp6'],
): Promise<boolean> {
  const own = process.getuid?.();
  if (own === undefined || !isLoopback(ends.remoteAddress) || !isLoopback(ends.localAddress)) {
    return false;
  }
  const client = endKeys(ends.remoteAddress, ends.remotePort);
  const server = endKeys(ends.localAddress, ends.localPort);
  for (const file of files) {
    const owner = ownerIn(await readTable(file), client, server);
    if (owner !== undefined) return owner === own || owner === 0;
  }
  return false;
}

async function readTable(file: string): Promise<string> {
  try {
    return await readFile(file, 'latin1');
  } catch {
    // No such table (not Linux, no IPv6): nothing in it, and the token is asked for.
    return '';
  }
}

/** The user id of the socket whose ends are these; undefined when there is none in the table. */
function ownerIn(table: string, client: readonly string[], server: readonly string[]) {
  for (const line of table.split('\n')) {
    // sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode
    const [, local = '', remote = '', state, , , , uid, , inode] = line.trim().split(/\s+/);
    if (!client.includes(local) || !server.includes(remote)) continue;
    return state === ESTABLISHED && inode !== '0' ? Number(uid) : undefined;
  }
  return undefined;
}

/** How a table may write an address and port: as IPv4, and as IPv6 or IPv4 mapped into it. */
function endKeys(address = '', port = 0): string[] {
  const portText = port.toString(16).toUpperCase().padStart(4, '0');
  const plain = address.toLowerCase().replace(/^::ffff:(?=\d+\.)/, '');
  if (!isIPv4(plain)) return [`00000000000000000000000001000000:${portText}`]; // ::1
  const word = Buffer.from(plain.split('.').map(Number).reverse()).toString('hex').toUpperCase();
  return [`${word}:${portText}`, `0000000000000000FFFF0000${word}:${portText}`];
}

function isLoopback(address = ''): boolean {
  return address === '::1' || /^(::ffff:)?127\.\d+\.\d+\.\d+$/i.test(address);
}
