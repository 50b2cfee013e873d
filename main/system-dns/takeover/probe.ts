/**
 * Probe names: proof that a question really passes through our engine. Used by the takeover, the
 * guardian and the coverage report.
 *
 *     <nonce>.<instance>.probe.sluice.internal   A 127.0.0.1, AAAA ::1, TTL 0, only by the engine
 *                                                that was given this instance id
 *
 * The engine knows them by its policy (dns/special-zones.ts); all else below
 * probe.sluice.internal does not exist.
 *
 * The nonce keeps caches out of it; the instance id is random, so no other server can know it.
 * resolved treats "internal" as unsigned, so DNSSEC does not stand in the way.
 */
import { createSocket } from 'node:dgram';
import type { DnsServer } from '../owners/owner.ts';

export const PROBE_ZONE = 'probe.sluice.internal';

/** A new id for one run of the engine: 16 hexadecimal digits that nobody can guess. */
export function newInstanceId(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex');
}

/** A name never asked before: 12 hexadecimal digits, which need not be secret. */
export function probeName(instance: string): string {
  const nonce = Math.floor(Math.random() * 2 ** 48).toString(16);
  return `${nonce.padStart(12, '0')}.${instance}.${PROBE_ZONE}`;
}

/**
 * Asks a server directly, over UDP.
 *
 * @returns true when it answered with an address within the time
 */
export function askServer(server: DnsServer, name: string, timeoutMs: number): Promise<boolean> {
  const isV6 = server.address.includes(':');
  const id = Math.floor(Math.random() * 0x1_0000);
  const socket = createSocket(isV6 ? 'udp6' : 'udp4');
  return new Promise((resolve) => {
    const end = (answered: boolean): void => {
      clearTimeout(timer);
      socket.close();
      resolve(answered);
    };
    const timer = setTimeout(() => {
      end(false);
    }, timeoutMs);
    socket.once('error', () => {
      end(false);
    });
    socket.on('message', (reply) => {
      if (isProbeAnswer(reply, id)) end(true);
    });
    socket.connect(server.port, server.address, () => {
      socket.send(probeQuery(id, name), (error) => {
        if (error) end(false);
      });
    });
  });
}

/** A query for the A record of a name. RFC 1035 §4.1. */
export function probeQuery(id: number, name: string): Buffer {
  const header = Buffer.from([id >> 8, id & 0xff, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  const labels = name.split('.').map((label) => {
    return Buffer.concat([Buffer.from([label.length]), Buffer.from(label, 'latin1')]);
  });
  return Buffer.concat([header, ...labels, Buffer.from([0, 0, 1, 0, 1])]);
}

/** True for a reply with this id, NOERROR, and at least one record. */
export function isProbeAnswer(reply: Buffer, id: number): boolean {
  if (reply.length < 12 || reply.readUInt16BE(0) !== id) return false;
  const flags = reply.readUInt16BE(2);
  return (flags & 0x8000) !== 0 && (flags & 0x000f) === 0 && reply.readUInt16BE(6) > 0;
}
