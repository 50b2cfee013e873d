/** A line to type so that a question goes to Sluice. */
export interface Endpoint {
  readonly address: string;
  readonly port: number;
}

/** Takes "127.0.0.1:53" or "[::1]:53", with anything before it, apart; null when it is neither. */
export function parseEndpoint(text: string): Endpoint | null {
  const match = /(?:\[([0-9a-fA-F:.]+)\]|(\d{1,3}(?:\.\d{1,3}){3})):(\d{1,5})$/.exec(text.trim());
  const address = match?.[1] ?? match?.[2];
  if (address === undefined || match?.[3] === undefined) return null;
  return { address: reachable(address), port: Number(match[3]) };
}

/** A line that asks Sluice for a name. */
export function digLine({ address, port }: Endpoint): string {
  return port === 53
    ? `dig @${address} example.com`
    : `dig @${address} -p ${String(port)} example.com`;
}

/** An address to ask: a wildcard listens on all of them, loopback included. */
function reachable(address: string): string {
  if (address === '0.0.0.0') return '127.0.0.1';
  return address === '::' ? '::1' : address;
}
