/**
 * One configured server as the upstream pool sees it: its address, its two ways, its health, and
 * what it was found not to understand.
 */
import type { Random } from '../engine/ports.ts';
import type { PlainServer } from './server-address.ts';
import { formatServer } from './server-address.ts';
import type { CarrierOwner } from './upstream-attempt.ts';
import { UpstreamHealth } from './upstream-health.ts';
import { UpstreamTcp } from './upstream-tcp.ts';
import { UpstreamUdp } from './upstream-udp.ts';

/** Replies in the wrong letter case, one after another, after which the check is given up. */
const CASE_STRIKES_MAX = 3;

/** A server and everything known about it. */
export class Upstream {
  /** Tells whether two settings mean the same server. */
  readonly key: string;
  readonly isTcpOnly: boolean;
  readonly udp: UpstreamUdp;
  readonly tcp: UpstreamTcp;
  health = new UpstreamHealth();
  /** Index among the configured servers. */
  index: number;
  /** Answers FORMERR or NOTIMP to OPT, and a proper reply without it. */
  refusesEdns = false;
  /** Does not keep the letter case of the question, so random case tells nothing. */
  changesCase = false;
  #caseStrikes = 0;

  constructor(
    server: PlainServer,
    index: number,
    owner: CarrierOwner,
    random: Random,
    socketsMax: number,
  ) {
    this.key = formatServer(server);
    this.isTcpOnly = server.transport === 'tcp';
    this.index = index;
    this.udp = new UpstreamUdp(server, owner, random, socketsMax);
    this.tcp = new UpstreamTcp(server, owner, random);
  }

  /** Notes a UDP reply that was right but for the case. @returns whether the check is given up */
  strikeCase(): boolean {
    if (++this.#caseStrikes >= CASE_STRIKES_MAX) this.changesCase = true;
    return this.changesCase;
  }

  keptCase(): void {
    this.#caseStrikes = 0;
  }

  sweep(nowUs: number): void {
    this.udp.sweep(nowUs);
    this.tcp.sweep(nowUs);
  }

  /** Forgets what was learned, for another network. */
  forget(): void {
    this.health = new UpstreamHealth();
    this.refusesEdns = false;
    this.changesCase = false;
    this.#caseStrikes = 0;
  }

  /** Closes all sockets; what was in flight is reported as failed. */
  close(): void {
    this.udp.close();
    this.tcp.close();
  }
}
