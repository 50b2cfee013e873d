/**
 * A stand-in for the engine, in a thread of its own as the real one: answers probe names, and every
 * other name with ENGINE_ADDRESS. Its thread can be blocked, as a hung engine would be.
 */
import { createSocket } from 'node:dgram';
import { parentPort, workerData } from 'node:worker_threads';
import { PROBE_ZONE } from '../../../main/system-dns/takeover/probe.ts';
import type { DnsServer } from '../../../main/system-dns/owners/owner.ts';

const { servers, instance } = workerData as { servers: DnsServer[]; instance: string };
/** What names get from the engine; the network's own server answers otherwise. */
const ENGINE_ADDRESS = [10, 99, 0, 1];
const V6_LOOPBACK = [...Array<number>(15).fill(0), 1];

/** RFC 1035 §4.1: question copied, at most one record. */
function reply(query: Buffer): Buffer {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length).toLowerCase());
    at += 1 + length;
  }
  const name = labels.join('.');
  const type = query.readUInt16BE(at + 1);
  const isProbe = name.endsWith(`.${instance}.${PROBE_ZONE}`);
  const isAbsent = name.endsWith('.internal') && !isProbe;
  const data =
    type === 1 && !isAbsent
      ? isProbe
        ? [127, 0, 0, 1]
        : ENGINE_ADDRESS
      : type === 28 && isProbe
        ? V6_LOOPBACK
        : [];
  const header = Buffer.from(query.subarray(0, 12));
  header.writeUInt16BE(isAbsent ? 0x8183 : 0x8180, 2);
  header.writeUInt16BE(1, 4);
  header.writeUInt16BE(data.length > 0 ? 1 : 0, 6);
  header.writeUInt32BE(0, 8);
  const question = query.subarray(12, at + 5);
  const record = [0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, data.length, ...data];
  return Buffer.concat([header, question, Buffer.from(data.length > 0 ? record : [])]);
}

await Promise.all(
  servers.map(
    ({ address, port }) =>
      new Promise<void>((resolve, reject) => {
        const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
        socket.on('message', (query, from) => {
          if (query.length > 16) socket.send(reply(query), from.port, from.address);
        });
        socket.once('error', reject);
        socket.bind(port, address, resolve);
      }),
  ),
);
parentPort?.on('message', () => {
  for (;;); // "hang"
});
parentPort?.postMessage('ready');
