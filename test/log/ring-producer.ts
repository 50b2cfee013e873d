/** Thread of ring.test.ts: pushes numbered records as fast as it can, in random bursts. */
import { parentPort, workerData } from 'node:worker_threads';
import { writeName } from '../../main/dns/name.ts';
import { LogRing } from '../../main/log/ring.ts';
import { facts } from './fixtures.ts';

const { buffer, total } = workerData as { buffer: SharedArrayBuffer; total: number };
const ring = new LogRing(buffer);
const template = facts('n0.example');
const pause = new Int32Array(new SharedArrayBuffer(4));
let accepted = 0;
let refused = 0;
for (let number = 0; number < total; number++) {
  template.durationUs = number;
  template.nameLength = writeName(`n${number}.example`, template.name, 0);
  if (ring.push(template)) accepted++;
  else refused++;
  if (number % 5_000 === 0) Atomics.wait(pause, 0, 0, 1);
}
parentPort?.postMessage([accepted, refused]);
