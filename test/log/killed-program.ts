/** A program that logs as fast as it can until it is killed. Run by fork from failures.test.ts. */
import { QueryLog } from '../../main/log/query-log.ts';
import { LogRing } from '../../main/log/ring.ts';
import { facts, SETTINGS } from './fixtures.ts';

const buffer = LogRing.createBuffer(4_096);
const log = await QueryLog.open({
  directory: process.argv[2] as string,
  settings: SETTINGS,
  rings: [buffer],
  onLive: () => undefined,
  onState: () => undefined,
});
const ring = new LogRing(buffer);
const record = facts('query.example');
setInterval(() => {
  for (let index = 0; index < 500; index++) ring.push(record);
}, 1);
while (log.state.batches === 0) await new Promise((resolve) => setTimeout(resolve, 1));
process.send?.('writing');
