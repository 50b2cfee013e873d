/**
 * Layout of the shared counter block: one Float64 slot per counter and thread.
 *
 * A data-plane thread owns its block and writes it with plain stores; everybody else only reads
 * and adds the blocks up. Doubles count exactly up to 2^53. A reader may see one counter a moment
 * before its neighbour: every figure is true, sums may differ by the queries in progress.
 */
export const COUNTERS = [
  'received', // packets and TCP messages that arrived
  'ignored', // received and silently dropped: too short, QR=1, from port 0, ...
  'answered', // responses sent; equals the sum of the seven outcomes below
  'forwarded',
  'cached',
  'blocked',
  'local',
  'failed',
  'rejected',
  'stale',
  'truncated', // UDP answers with TC set
  'joined', // questions that waited for an identical one in flight
  'logged', // records put into the log ring
  'logDropped', // records dropped because the ring was full
  'sendFailed', // answers the socket refused
  'upstreamSent', // queries sent upstream, retries included
  'upstreamAnswered', // verified replies
  'upstreamTimeouts',
  'upstreamMismatched', // replies with wrong ID, question, case or cookie; not believed
  'upstreamMalformed', // replies of which nothing can be used; asked for over TCP or elsewhere
  'upstreamTcp', // exchanges over TCP
  'pending', // gauge: questions in flight now
  'pendingDropped', // questions refused because too many were in flight
  'tcpConnections', // gauge: client connections open now
  'tcpRefused', // client connections refused at the bound
  'tcpEvicted', // client connections closed to make room for others
  'cacheEntries', // gauge
  'cacheBytes', // gauge
  'cacheMisses',
  'prefetched', // popular or stale answers asked for anew, for the cache's sake
  'answersCut', // upstream answers of which records were left out: private, or of other names
  'answersWrong', // upstream answers refused: loops, chains that are too long
  'limited', // queries over a client's rate: REFUSED over TCP; over UDP every second TC=1, others dropped
  'denied', // queries dropped because the client is not on the access list
  'probes', // answers to probe names of the takeover; in no other figure but `received`
] as const;
export type CounterName = (typeof COUNTERS)[number];

/** Slot of each counter in a thread's block. */
export const COUNTER = Object.fromEntries(COUNTERS.map((name, index) => [name, index])) as {
  readonly [name in CounterName]: number;
};

/**
 * Latency histogram: log-linear, 16 sub-buckets per power of two, so a bucket is at most 1/16
 * (6.25 %) wide relative to its lower edge. Values 0..15 µs have a bucket each; the last bucket
 * starts above 30 s. Bucket of v µs (v >= 16): let e = floor(log2 v);
 * index = (e - 3) * 16 + (v >> (e - 4)) - 16.
 */
export const HISTOGRAM_BUCKETS = (25 - 3) * 16;

/** Histograms kept by each thread: all answers, and those that needed an upstream. */
export const HISTOGRAMS = ['local', 'upstream'] as const;
export type HistogramName = (typeof HISTOGRAMS)[number];

/** Float64 slots of one thread's block: counters, then the histograms. */
export const COUNTER_BLOCK_SLOTS = COUNTERS.length + HISTOGRAMS.length * HISTOGRAM_BUCKETS;

/** Index of the bucket for a duration in whole microseconds (0 or more). */
export function histogramBucket(us: number): number {
  if (us < 16) return us;
  const exponent = 31 - Math.clz32(us);
  const index = (exponent - 3) * 16 + (us >>> (exponent - 4)) - 16;
  return index < HISTOGRAM_BUCKETS ? index : HISTOGRAM_BUCKETS - 1;
}

/** Lower edge of a bucket in microseconds; its width is the difference to the next one's. */
export function histogramLowerUs(index: number): number {
  if (index < 16) return index;
  const exponent = Math.floor(index / 16) + 3;
  return (16 + (index % 16)) * 2 ** (exponent - 4);
}

/** One read-out of all counters, summed over threads. */
export type CounterSnapshot = Record<CounterName, number>;
