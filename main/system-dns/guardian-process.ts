/**
 * Entry of the guardian: a process of its own that gives the resolver back when the app cannot.
 *
 * Started by guardian.ts, detached from the app's session and process group. It reads one line of
 * JSON (`GuardianOrders`) from its standard input, prints "armed", and then listens: "bye" ends it
 * without a restore; the end of the input means that the app has ended. It holds everything it
 * needs in memory: app and program folder may be gone when it acts. Built as one CommonJS file,
 * which starts in less memory than modules do.
 */
import { createSocket, type Socket } from 'node:dgram';
import { read, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { REPORT_FILE, type GuardianOrders, type GuardianReport } from './guardian-orders.ts';
import { GuardianWatch, PROBE_EVERY_MS, type Verdict } from './guardian-watch.ts';
import { JournalFile } from './journal.ts';
import type { DnsServer } from './owner.ts';
import { systemOwners } from './owners.ts';
import { isProbeAnswer, probeName, probeQuery } from './probe.ts';
import { restore } from './restore.ts';

/** A restore that fails is tried again: the owner may be restarting. */
const RETRY_MS = 250;
const RETRIES = 240;
const STDIN = 0;
const STDOUT = 1;

class Guardian {
  readonly #orders: GuardianOrders;
  readonly #watch = new GuardianWatch(performance.now());
  readonly #parent = process.ppid;
  readonly #socket: Socket;
  readonly #timer: NodeJS.Timeout;
  #probeId = 0;
  #isActing = false;

  constructor(orders: GuardianOrders) {
    this.#orders = orders;
    const server = orders.servers[0] ?? { address: '127.0.0.1', port: 53 };
    this.#socket = createSocket(server.address.includes(':') ? 'udp6' : 'udp4');
    this.#socket.on('error', () => undefined); // "nobody listens there" comes as an error: silence
    this.#socket.on('message', (reply) => {
      if (isProbeAnswer(reply, this.#probeId)) this.#watch.heard(performance.now());
    });
    this.#socket.bind(0, server.address.includes(':') ? '::1' : '127.0.0.1');
    this.#timer = setInterval(() => {
      this.#tick(server);
    }, PROBE_EVERY_MS);
  }

  appEnded(): void {
    this.#watch.appEnded();
    this.#act('app-ended');
  }

  #tick(server: DnsServer): void {
    if (process.ppid !== this.#parent) this.#watch.appEnded();
    const verdict = this.#watch.tick(performance.now());
    if (verdict !== 'fine') {
      this.#act(verdict);
      return;
    }
    this.#probeId = (this.#probeId + 1) & 0xffff;
    const query = probeQuery(this.#probeId, probeName(this.#orders.instance));
    this.#socket.send(query, server.port, server.address, () => undefined);
  }

  #act(verdict: Exclude<Verdict, 'fine'>): void {
    if (this.#isActing) return;
    this.#isActing = true;
    clearInterval(this.#timer);
    void this.#restore(verdict, RETRIES);
  }

  async #restore(verdict: Exclude<Verdict, 'fine'>, triesLeft: number): Promise<void> {
    const journal = new JournalFile(this.#orders.directory);
    const report = await restore({ journal, owners: systemOwners() });
    if (report.outcome === 'partly' && triesLeft > 0) {
      setTimeout(() => void this.#restore(verdict, triesLeft - 1), RETRY_MS);
      return;
    }
    leaveReport(this.#orders.directory, { ...report, atMs: Date.now(), verdict });
    process.exit(report.outcome === 'partly' ? 1 : 0);
  }
}

/** On a full disk, or without the app, there is nobody to tell; the restore is what counts. */
function leaveReport(directory: string, report: GuardianReport): void {
  const text = `${JSON.stringify(report)}\n`;
  try {
    writeFileSync(join(directory, REPORT_FILE), text, { mode: 0o600 });
  } catch {
    // See above.
  }
  try {
    writeSync(STDOUT, `restored ${text}`);
  } catch {
    // See above.
  }
}

/** Standard input by plain reads: `process.stdin` would load streams that nothing else needs. */
function readLines(onLine: (line: string) => void, onEnd: () => void): void {
  const buffer = Buffer.alloc(16_384);
  let text = '';
  const next = (): void => {
    read(STDIN, buffer, 0, buffer.length, null, (error, count) => {
      if (error?.code === 'EAGAIN') {
        setTimeout(next, PROBE_EVERY_MS);
        return;
      }
      if (error !== null || count === 0) {
        onEnd();
        return;
      }
      text += buffer.toString('utf8', 0, count);
      const lines = text.split('\n');
      text = lines.pop() ?? '';
      lines.forEach(onLine);
      next();
    });
  };
  next();
}

let guardian: Guardian | undefined;
// What ends a session or a terminal must not end the one that cleans up after it.
for (const signal of ['SIGHUP', 'SIGINT', 'SIGTERM', 'SIGPIPE'] as const) {
  process.on(signal, () => undefined);
}
readLines(
  (line) => {
    if (line === 'bye') process.exit(0);
    guardian ??= new Guardian(JSON.parse(line) as GuardianOrders);
    writeSync(STDOUT, 'armed\n');
  },
  () => {
    if (guardian) guardian.appEnded();
    else process.exit(0);
  },
);
