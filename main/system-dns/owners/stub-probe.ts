/**
 * Asks the system's own stub resolver, as every program does: getaddrinfo. Used by the takeover to
 * prove that the machine's questions come to us.
 */
import { lookup } from 'node:dns';

/** @returns true when the stub found the loopback address of that family within the time */
export function askStub(name: string, family: 4 | 6, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(false);
    }, timeoutMs);
    lookup(name, { family }, (error, address) => {
      clearTimeout(timer);
      resolve(error === null && address === (family === 4 ? '127.0.0.1' : '::1'));
    });
  });
}
