/**
 * What the log costs the data plane: one push into the ring, full and not full, and the drain.
 *
 * Run: node bench/micro/log-ring.bench.ts. Bound: push < 150 ns and no allocation (issue 2, 4).
 */
import { bench, do_not_optimize, run, summary } from 'mitata';
import { OUTCOME, REASON } from '../../main/contract/outcome.ts';
import { LIMITS } from '../../main/contract/limits.ts';
import { writeName } from '../../main/dns/name.ts';
import { LIST_ID_NONE } from '../../main/engine/filter/engine-config.ts';
import type { LogFacts } from '../../main/engine/query/ports.ts';
import { LogRing } from '../../main/log/ring.ts';

const name = new Uint8Array(255);
const facts: LogFacts = {
  timeMs: 1_750_000_000_000,
  address: new Uint8Array([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 192, 168, 1, 7]),
  transport: 'udp',
  name,
  nameLength: writeName('stats.g.doubleclick.net', name, 0),
  type: 65,
  qclass: 1,
  rcode: 0,
  outcome: OUTCOME.blocked,
  reason: REASON.list,
  listId: LIST_ID_NONE,
  matchedLabels: 2,
  matched: name,
  matchedLength: 0,
  upstream: -1,
  durationUs: 42,
};

const ring = new LogRing(LogRing.createBuffer(LIMITS.logRingSlots));
const full = new LogRing(LogRing.createBuffer(LIMITS.logRingSlots));
while (full.push(facts));

let undrained = 0;

summary(() => {
  bench('push, drained every 256', () => {
    if (!ring.push(facts)) throw new Error('the ring must not be full here');
    if (++undrained < LIMITS.logBatchRecords) return;
    ring.advance(undrained);
    undrained = 0;
  }).gc('inner');

  bench('push into a full ring (dropped)', () => {
    if (full.push(facts)) throw new Error('the ring must be full here');
  }).gc('inner');

  bench('read the name of one record', () => do_not_optimize(full.records.nameText(0)));
});

await run();
