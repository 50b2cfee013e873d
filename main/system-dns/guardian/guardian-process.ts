/**
 * Entry of the guardian: a process of its own that gives the resolver back when the app cannot.
 *
 * Started by guardian.ts, detached from the app's session and process group. Its orders come in an
 * environment variable; it prints "armed" and watches until the app ends, the engine falls silent,
 * or the app kills it because it is not needed any more. Where the watcher was built
 * (native/guardian/watcher.c), that one watches, and becomes this program when it is time to act.
 * It holds everything it needs in memory: app and program folder may be gone then. Built as one
 * CommonJS file, and it loads as little of Node as it can: no streams, no crypto, no performance
 * hooks, no thread pool.
 */
import { createSocket, type Socket } from 'node:dgram';
import { writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import {
  ORDERS_VARIABLE,
  REPORT_FILE,
  VERDICT_VARIABLE,
  type GuardianOrders,
  type GuardianReport,
} from './guardian-orders.ts';
import { GuardianWatch, PROBE_EVERY_MS, type Verdict } from './guardian-watch.ts';
import { JournalFile } from '../takeover/journal.ts';
import type { DnsServer } from '../owners/owner.ts';
import { systemOwners } from '../owners/owners.ts';
import { isProbeAnswer, probeName, probeQuery } from '../takeover/probe.ts';
import { restore } from '../takeover/restore.ts';

/** A restore that fails is tried again: the owner may be restarting. */
const RETRY_MS = 250;
const RETRIES = 240;
const STDOUT = 1;

class Guardian {
  readonly #orders: GuardianOrders;
  readonly #server: DnsServer;
  readonly #watch = new GuardianWatch(nowMs());
  readonly #socket: Socket;
  #timer: NodeJS.Timeout | undefined;
  #probeId = 0;
  #isActing = false;

  constructor(orders: GuardianOrders) {
    this.#orders = orders;
    this.#server = orders.servers[0] ?? { address: '127.0.0.1', port: 53 };
    const family = this.#server.address.includes(':') ? 6 : 4;
    this.#socket = createSocket({
      type: `udp${family}`,
      // Only addresses are asked; the default would load the DNS module.
      lookup: (address, _options, done) => {
        done(null, address, family);
      },
    });
  }

  watch(): void {
    this.#socket.on('error', () => undefined); // "nobody listens there" comes as an error: silence
    this.#socket.on('message', (reply) => {
      if (isProbeAnswer(reply, this.#probeId)) this.#watch.heard(nowMs());
    });
    this.#socket.bind(0, this.#server.address.includes(':') ? '::1' : '127.0.0.1');
    this.#timer = setInterval(() => {
      this.#tick();
    }, PROBE_EVERY_MS);
    writeSync(STDOUT, 'armed\n');
  }

  #tick(): void {
    if (this.#isAppGone()) this.#watch.appEnded();
    const verdict = this.#watch.tick(nowMs());
    if (verdict !== 'fine') {
      this.act(verdict);
      return;
    }
    this.#probeId = (this.#probeId + 1) & 0xffff;
    const query = probeQuery(this.#probeId, probeName(this.#orders.instance));
    this.#socket.send(query, this.#server.port, this.#server.address, () => undefined);
  }

  /** An orphan gets another parent, except on Windows, where the number stays. */
  #isAppGone(): boolean {
    if (process.platform !== 'win32') return process.ppid !== this.#orders.appPid;
    try {
      process.kill(this.#orders.appPid, 0);
      return false;
    } catch {
      return true;
    }
  }

  act(verdict: Exclude<Verdict, 'fine'>): void {
    if (this.#isActing) return;
    this.#isActing = true;
    clearInterval(this.#timer);
    void this.#restore(verdict, RETRIES);
  }

  async #restore(verdict: Exclude<Verdict, 'fine'>, triesLeft: number): Promise<void> {
    const { directory, journalId: id, journal: known } = this.#orders;
    const journal = new JournalFile(directory);
    const own = known ? { known } : { id };
    const report = await restore({ journal, owners: systemOwners(), ...own });
    if (report.outcome === 'partly' && triesLeft > 0) {
      setTimeout(() => void this.#restore(verdict, triesLeft - 1), RETRY_MS);
      return;
    }
    leaveReport(this.#orders.directory, { ...report, atMs: Date.now(), verdict });
    process.exit(report.outcome === 'partly' ? 1 : 0);
  }
}

/** Monotonic. `performance.now` would load more than a MiB. */
function nowMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}

/** On a full disk, or without the app, there is nobody to tell; the restore is what counts. */
function leaveReport(directory: string, report: GuardianReport): void {
  const text = `${JSON.stringify(report)}\n`;
  try {
    // A guardian that had nothing to do leaves the report of one that had.
    const path = join(directory, REPORT_FILE);
    if (report.outcome !== 'nothing') writeFileSync(path, text, { mode: 0o600 });
  } catch {
    // See above.
  }
  try {
    writeSync(STDOUT, `restored ${text}`);
  } catch {
    // See above.
  }
}

// What ends a session or a terminal must not end the one that cleans up after it.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGPIPE'] as const) {
  process.on(signal, () => undefined);
}
const guardian = new Guardian(JSON.parse(process.env[ORDERS_VARIABLE] ?? '') as GuardianOrders);
const verdict = process.env[VERDICT_VARIABLE];
if (verdict === 'app-ended' || verdict === 'engine-silent') guardian.act(verdict);
else guardian.watch();
