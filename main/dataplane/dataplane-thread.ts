/**
 * Entry of a data-plane thread: the engine between its listeners, its upstreams and its log ring.
 * Started by thread-keeper.ts with a ThreadSetup; answers packets until told to close.
 *
 * Loaded late and lean: neither zod nor SQLite nor YAML is reachable from here.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { COUNTER } from '../contract/counters.ts';
import type { CounterName } from '../contract/counters.ts';
import { invariant, toWire } from '../contract/errors.ts';
import { ClientGate } from '../engine/state/client-gate.ts';
import { Engine } from '../engine/engine.ts';
import { LogRing } from '../log/ring.ts';
import { systemClock } from '../net/clock.ts';
import { collectOldTables } from '../net/garbage.ts';
import { loadUdpAddon } from '../net/native/native-udp-addon.ts';
import type { UdpAddonResult } from '../net/native/native-udp-addon.ts';
import { NativeUdpClient } from '../net/transport/native-udp-client.ts';
import { CryptoRandom } from '../net/random.ts';
import type { Endpoint } from '../net/server-address.ts';
import { TcpClients } from '../net/listen/tcp-clients.ts';
import { dgramClient } from '../net/transport/udp-client.ts';
import { UpstreamPool } from '../net/upstream/pool.ts';
import { readCacheFile, removeCacheFile, writeCacheFile } from './cache-file.ts';
import { Listeners } from './listeners.ts';
import { openPolicy } from './open-policy.ts';
import { askEngine } from './own-question.ts';
import type { FromThread, PolicyMessage, ThreadSetup, ToThread } from './messages.ts';

/** Counters that tell a present state; a thread that ended left them as they were. */
const GAUGES: readonly CounterName[] = ['pending', 'tcpConnections', 'cacheEntries', 'cacheBytes'];
/** Longest wait at the end for answers that are on their way, and how often to look. */
const DRAIN_MS = 1_000;
const DRAIN_STEP_MS = 5;
/** From another table to the collection of the one before. */
const COLLECT_MS = 1_000;

const port = parentPort;
invariant(port !== null, 'the data plane runs in a worker thread');
const setup = workerData as ThreadSetup;
const slots = new Float64Array(setup.counters);
const counters = { slots };
const random = new CryptoRandom();

for (const name of GAUGES) slots[COUNTER[name]] = 0;
const { addon, reason, failure } = loadAddon();
const udpClient = addon === null ? dgramClient : new NativeUdpClient(addon, counters);
const pool = new UpstreamPool({
  servers: setup.plan,
  clock: systemClock,
  random,
  udp: udpClient,
  counters,
  onTrouble: (upstream, reason) => {
    report({ kind: 'upstream-trouble', upstream, reason });
  },
  onUnreachable: (host) => {
    report({ kind: 'unreachable', host });
  },
});
pool.setAddresses(setup.addresses);
// All threads count the time of the gate from the same moment, the system's own.
const gateOriginUs = Number(process.hrtime.bigint() / 1_000n) - systemClock.nowUs();
const engine = new Engine({
  clock: systemClock,
  random,
  exchange: pool,
  sink: new LogRing(setup.ring),
  counters,
  alarm: { after: (ms, run) => void setTimeout(run, ms).unref() },
  gate: new ClientGate(setup.gate, gateOriginUs),
});
let policy = firstPolicy();
let listsKey = new Uint8Array(0);
let collecting: NodeJS.Timeout | undefined;
/** What was told last of the listeners. */
let served = '';

try {
  if (failure !== null) throw failure;
  usePolicy(policy);
  restoreCache();
  const { listen, reusePort, claimsAlone } = setup;
  const common = { engine, counters, reusePort, tcpClients: new TcpClients() };
  const listeners = await Listeners.open(listen, { common, addon, claimsAlone });
  port.on('message', (message: ToThread) => {
    obey(message, listeners);
  });
  const udp = addon === null ? `one packet at a time (${reason})` : 'in batches';
  const first = listeners.state;
  served = JSON.stringify(first);
  report({ kind: 'listening', ...first, udp });
} catch (error) {
  report({ kind: 'failed', error: toWire(error) });
  pool.close();
  udpClient.close();
}

/** The add-on; an error that it is missing waits until it can be reported. */
function loadAddon(): UdpAddonResult & { failure: Error | null } {
  try {
    return { ...loadUdpAddon(), failure: null };
  } catch (error) {
    return { addon: null, reason: '', failure: error as Error };
  }
}

function report(message: FromThread): void {
  port?.postMessage(message);
}

function obey(message: ToThread, listeners: Listeners): void {
  switch (message.kind) {
    case 'policy':
      takePolicy(message.policy);
      break;
    case 'upstreams':
      pool.setServers(message.plan);
      break;
    case 'addresses':
      pool.setAddresses(message.addresses);
      break;
    case 'describe-upstreams':
      report({ kind: 'upstream-states', id: message.id, states: pool.states });
      break;
    case 'reset-upstreams':
      pool.reset();
      break;
    case 'listen':
      void listen(listeners, message.listen);
      break;
    case 'flush-cache':
      engine.flushCache();
      break;
    case 'inspect-cache':
      report({ kind: 'inspected', id: message.id, items: engine.inspectCache(message.name) });
      break;
    case 'flush-name': {
      const count = engine.flushCacheOf(message.name, message.below);
      report({ kind: 'flushed', id: message.id, count });
      break;
    }
    case 'resolve':
      askEngine(engine, message.packet, message.address, (answer) => {
        report({ kind: 'resolved', id: message.id, ...answer });
      });
      break;
    case 'settle':
      report({ kind: 'settled', id: message.id });
      break;
    case 'close':
      void close(listeners);
      break;
  }
}

/** Serves what can be served now, and tells when that is something else. */
async function listen(listeners: Listeners, endpoints: readonly Endpoint[]): Promise<void> {
  listeners.add(endpoints);
  await listeners.look();
  const { state } = listeners;
  const text = JSON.stringify(state);
  if (text === served) return;
  served = text;
  report({ kind: 'listeners', ...state });
}

function firstPolicy(): PolicyMessage {
  const first = setup.policy;
  invariant(first !== null, 'a thread begins with a policy');
  setup.policy = null;
  return first;
}

/** Lets go of the lists before, if these are others, once no question waits that they are for. */
function usePolicy(message: PolicyMessage): void {
  const opened = openPolicy(message);
  engine.setPolicy(opened);
  if (Buffer.compare(opened.lists.key, listsKey) === 0) return;
  listsKey = opened.lists.key.slice();
  clearTimeout(collecting);
  collecting = setTimeout(collectOldTables, COLLECT_MS).unref();
}

/** A policy that cannot be opened would end every new thread too, so the old one stays. */
function takePolicy(message: PolicyMessage): void {
  try {
    usePolicy(message);
    policy = message;
  } catch (error) {
    const text = error instanceof Error ? error.message : String(error);
    report({ kind: 'fault', reason: `policy ${String(message.version)} was refused: ${text}` });
  }
}

/** A cache begins empty when its file is of no use. */
function restoreCache(): void {
  if (setup.cacheFile === null || !policy.cache.persist) return;
  try {
    const image = readCacheFile(setup.cacheFile);
    if (image !== null) engine.restoreCache(image);
  } catch (error) {
    report({ kind: 'fault', reason: `the kept answers cannot be read: ${String(error)}` });
  }
}

/** Keeps the answers for the next start, or removes what was kept before it was switched off. */
function saveCache(): void {
  if (setup.cacheFile === null) return;
  try {
    if (policy.cache.persist) writeCacheFile(setup.cacheFile, engine.saveCache());
    else removeCacheFile(setup.cacheFile);
  } catch (error) {
    report({ kind: 'fault', reason: `the answers cannot be kept: ${String(error)}` });
  }
}

/** Takes no more packets, lets answers that are on their way leave, and ends the thread. */
async function close(listeners: Listeners): Promise<void> {
  listeners.stop();
  const untilMs = performance.now() + DRAIN_MS;
  while (pool.unfinished > 0 && performance.now() < untilMs) {
    await new Promise((resolve) => setTimeout(resolve, DRAIN_STEP_MS));
  }
  saveCache();
  engine.close();
  pool.close();
  udpClient.close();
  await listeners.close();
  port?.close();
}
