/**
 * The switch of the takeover as doors see it: moves it, remembers it, tells its state in the
 * contract's words. Owned by the service in the main thread; system-dns/ does the work.
 */
import type {
  NetworkStatus,
  RestoreResult,
  TakeoverStatus,
} from '../../contract/takeover-schema.ts';
import type { NetworkReport, SystemDns } from '../../system-dns/system-dns.ts';
import { SealedFile } from '../../system/sealed-file.ts';
import type { ServiceClock } from '../../system/clock.ts';
import { writeTrouble } from '../process/data-folder.ts';
import type { Health } from '../process/health.ts';

/** The resolver's owner may start after us at boot: how often and how soon it is tried again. */
const START_TRIES = 6;
const START_AGAIN_MS = 10_000;

/** What the switch needs of system-dns/system-dns.ts. */
export type SystemDnsPart = Pick<
  SystemDns,
  | 'state'
  | 'portal'
  | 'takeOver'
  | 'giveBack'
  | 'openPortal'
  | 'closePortal'
  | 'network'
  | 'changeRight'
  | 'follow'
>;

export interface TakeoverSwitchOptions {
  readonly systemDns: SystemDnsPart;
  readonly clock: ServiceClock;
  readonly health: Pick<Health, 'setProblem' | 'setNotice'>;
  /** Where the position is kept over a restart; null: it is not, the settings decide. */
  readonly file: string | null;
}

interface Saved {
  readonly isOn: boolean;
}

export class TakeoverSwitch {
  readonly #options: TakeoverSwitchOptions;
  readonly #file: SealedFile<Saved> | null;
  #cancelRetry: () => void = () => undefined;
  #saving: Promise<void> = Promise.resolve();

  constructor(options: TakeoverSwitchOptions) {
    this.#options = options;
    const { file: path } = options;
    this.#file =
      path === null ? null : new SealedFile({ path, kind: 'takeover', parse: parseSaved });
  }

  get status(): TakeoverStatus {
    const { state, portal } = this.#options.systemDns;
    const { phase, reason, owner, covered } = state;
    const isPortal = portal.phase === 'open';
    return {
      state: isPortal && phase !== 'restoring' ? 'portal' : phase,
      reason: isPortal ? PORTAL_OPEN : reason || (PORTAL_TEXT[portal.phase] ?? ''),
      ...{ owner, covered: [...covered] },
      portal: { phase: portal.phase, endsAtMs: this.#wallMs(portal.endsAtMs) },
    };
  }

  /** @throws AppError TAKEOVER_FAILED, TAKEOVER_HELD; the resolver is as before then */
  async takeOver(): Promise<TakeoverStatus> {
    this.#cancelRetry();
    await this.#options.systemDns.takeOver();
    await this.#remember(true);
    return this.status;
  }

  /** Never throws: what failed is in the result. */
  async giveBack(): Promise<RestoreResult> {
    this.#cancelRetry();
    this.#options.health.setProblem('takeover at start', null);
    const report = await this.#options.systemDns.giveBack();
    await this.#remember(false);
    return plainReport(report);
  }

  /** The machine's links or addresses have changed: its tunnels are looked at. */
  follow(): void {
    this.#options.systemDns.follow();
  }

  /** Opens the way to a login page, or closes it. Without a network's own servers: nothing. */
  portal(open: boolean): TakeoverStatus {
    const { systemDns } = this.#options;
    if (open) systemDns.openPortal();
    else systemDns.closePortal();
    return this.status;
  }

  async network(): Promise<NetworkStatus> {
    return { takeover: this.status, ...plainNetwork(await this.#options.systemDns.network()) };
  }

  /** @throws AppError RIGHT_REFUSED */
  async right(id: string, change: 'install' | 'remove'): Promise<NetworkStatus> {
    await this.#options.systemDns.changeRight(id, change);
    return this.network();
  }

  /** The state has changed: a takeover that is not wholly in force is a problem. */
  changed(): void {
    const { phase, reason } = this.#options.systemDns.state;
    const sentence = `The system resolver is not wholly in Sluice's hands: ${reason}.`;
    this.#options.health.setProblem('takeover', phase === 'degraded' ? sentence : null);
  }

  /** Takes over where the settings, or the switch of the last time, say so. Does not throw. */
  async start(isWantedBySettings: boolean): Promise<void> {
    if (!isWantedBySettings && !this.#wasOn()) return;
    await this.#tryStart(START_TRIES);
  }

  /** Resolves when nothing is being saved. The position stays for the next start. */
  async close(): Promise<void> {
    this.#cancelRetry();
    await this.#saving;
  }

  async #tryStart(triesLeft: number): Promise<void> {
    const { systemDns, clock, health } = this.#options;
    try {
      await systemDns.takeOver();
      health.setProblem('takeover at start', null);
    } catch (error) {
      const said = error instanceof Error ? error.message : String(error);
      const sentence = `The system resolver could not be taken over at start: ${said}.`;
      health.setProblem('takeover at start', sentence);
      if (triesLeft <= 1) return;
      this.#cancelRetry = clock.after(START_AGAIN_MS, () => void this.#tryStart(triesLeft - 1));
    }
  }

  #wallMs(monotonicMs: number | null): number | null {
    if (monotonicMs === null) return null;
    const { clock } = this.#options;
    return Math.round(clock.wallMs() + monotonicMs - performance.now());
  }

  #wasOn(): boolean {
    const found = this.#file?.read();
    if (found?.state === 'damaged') {
      const sentence = `The takeover's switch is not known, so it is off: ${found.sentence}.`;
      this.#options.health.setNotice('takeover', sentence);
    }
    return found?.state === 'whole' && found.value.isOn;
  }

  #remember(isOn: boolean): Promise<void> {
    const { health } = this.#options;
    const file = this.#file;
    if (file === null) return Promise.resolve();
    const remember = async (): Promise<void> => {
      try {
        await file.write({ isOn });
        health.setNotice('takeover', null);
      } catch (error) {
        const reason = writeTrouble(error, file.path);
        const sentence = `The takeover is not remembered over a restart: ${reason}.`;
        health.setNotice('takeover', sentence);
      }
    };
    this.#saving = remember();
    return this.#saving;
  }
}

function parseSaved(json: unknown): Saved | undefined {
  const { isOn } = (json ?? {}) as Partial<Saved>;
  return typeof isOn === 'boolean' ? { isOn } : undefined;
}

const PORTAL_OPEN =
  'names go past the filter to the servers of this network, so that its login page opens';
const PORTAL_TEXT: Readonly<Record<string, string>> = {
  asking: 'this network seems to want a login first; open the portal to see its page',
};

function plainReport({ outcome, detail, items }: RestoreResultLike): RestoreResult {
  return { outcome, detail, items: items.map((item) => ({ ...item })) };
}

type RestoreResultLike = Awaited<ReturnType<SystemDns['giveBack']>>;

function plainNetwork(report: NetworkReport): Omit<NetworkStatus, 'takeover'> {
  const { owners, links, journal, lastRescue, bypasses, ladder } = report;
  return {
    owners: owners.map(({ name, detection: { isPresent, isInCharge, detail } }) => {
      return { name, isPresent, isInCharge, detail };
    }),
    links: links.map((link) => ({
      ...link,
      servers: [...link.servers],
      serversBefore: [...link.serversBefore],
      routingDomains: [...link.routingDomains],
    })),
    journal: { ...journal },
    lastRescue: lastRescue && {
      ...plainReport(lastRescue),
      ...{ atMs: lastRescue.atMs, verdict: lastRescue.verdict },
    },
    bypasses: bypasses.map((one) => ({ ...one })),
    ladder: ladder.map((one) => ({ ...one })),
  };
}
