/**
 * Captive portals: decides when names go only to the servers that the network gave, so that its
 * login page opens. A pure state machine: results of probes, time and wishes come in, the state is
 * read. portal-probe.ts does the probing, system-dns.ts connects both.
 *
 *     clear ──portal seen──▶ open (at most OPEN_MS) ──way is free──▶ clear
 *       │ known network           └──time is over──▶ over ──asked, or another network──▶ open, clear
 *       └──portal seen──▶ asking ──asked──▶ open
 *
 * A network that was free before does not get this by itself: someone who can answer probes there
 * could switch filtering off.
 */

/** Longest time that names go past the filter at a time. */
export const OPEN_MS = 5 * 60_000;
/** Time between two probes while it is open. */
export const RECHECK_MS = 5_000;
const KNOWN_MAX = 256;

export type PortalFinding = 'free' | 'portal' | 'offline';

export interface PortalState {
  readonly phase: 'clear' | 'asking' | 'open' | 'over';
  /** Monotonic; null unless open. */
  readonly endsAtMs: number | null;
  /** Servers to ask while open; empty otherwise. */
  readonly servers: readonly string[];
}

const CLEAR: PortalState = { phase: 'clear', endsAtMs: null, servers: [] };

export class PortalMode {
  readonly #known = new Set<string>();
  #state: PortalState = CLEAR;
  #network = '';
  #servers: readonly string[] = [];

  /** @param known  networks that were free before */
  constructor(known: Iterable<string> = []) {
    for (const network of known) this.#remember(network);
  }

  get state(): PortalState {
    return this.#state;
  }

  /** For saving. */
  get known(): readonly string[] {
    return [...this.#known];
  }

  /** Time of the next probe; null when none is due: monotonic, as for all methods. */
  nextProbeMs(nowMs: number): number | null {
    return this.#state.phase === 'open' ? nowMs + RECHECK_MS : null;
  }

  /**
   * Another network, or the same one again. A probe is due.
   *
   * @param network  stable name of it, e.g. gateway and servers
   * @param servers  what DHCP or router advertisements gave
   */
  joined(network: string, servers: readonly string[]): void {
    if (network !== this.#network) this.#state = CLEAR;
    this.#network = network;
    this.#servers = servers;
    if (this.#state.phase === 'open') this.#state = { ...this.#state, servers };
  }

  found(finding: PortalFinding, nowMs: number): void {
    this.tick(nowMs);
    if (finding === 'free') {
      this.#remember(this.#network);
      this.#state = CLEAR;
    } else if (finding === 'portal' && this.#state.phase === 'clear') {
      if (this.#known.has(this.#network)) this.#state = { ...CLEAR, phase: 'asking' };
      else this.#open(nowMs);
    }
  }

  /** A person asks for it, in any phase. Without servers of the network there is nothing to open. */
  ask(nowMs: number): void {
    this.#open(nowMs);
  }

  /** A person ends it; it does not open again by itself on this network. */
  end(): void {
    if (this.#state.phase !== 'clear') this.#state = { ...CLEAR, phase: 'over' };
  }

  tick(nowMs: number): void {
    const { endsAtMs } = this.#state;
    if (endsAtMs !== null && nowMs >= endsAtMs) this.#state = { ...CLEAR, phase: 'over' };
  }

  #open(nowMs: number): void {
    if (this.#servers.length === 0) return;
    this.#state = { phase: 'open', endsAtMs: nowMs + OPEN_MS, servers: this.#servers };
  }

  #remember(network: string): void {
    if (network === '') return;
    this.#known.delete(network);
    this.#known.add(network);
    const [oldest] = this.#known;
    if (this.#known.size > KNOWN_MAX && oldest !== undefined) this.#known.delete(oldest);
  }
}
