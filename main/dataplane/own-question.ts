/**
 * One question of our own through a running engine, as a client would send it: for `check` with
 * `resolve`. Runs in the data-plane thread; it is answered, counted and logged like any other.
 */
import { LIMITS } from '../contract/limits.ts';
import type { Outcome, Reason } from '../contract/outcome.ts';
import type { Engine } from '../engine/engine.ts';
import type { Client } from '../engine/query/ports.ts';

/** What came of it. */
export interface OwnAnswer {
  /** The whole message; null when there is none: the client may not ask, or a rule says so. */
  readonly answer: Uint8Array | null;
  readonly outcome: Outcome;
  readonly reason: Reason;
  /** As in ExchangeResult. */
  readonly upstream: number;
  readonly durationUs: number;
}

/** Any but 0, which forged packets have. */
const CLIENT_PORT = 53_053;

/**
 * @param address  16 bytes, as in ports.ts Client
 * @param done     called once, perhaps before this function has returned
 */
export function askEngine(
  engine: Engine,
  packet: Uint8Array,
  address: Uint8Array,
  done: (answer: OwnAnswer) => void,
): void {
  const tell = (answer: Uint8Array | null): void => {
    done({ answer, ...engine.describeLast() });
  };
  const client: Client = {
    // Long answers come whole, and the rate limit is for packets.
    ...{ address, port: CLIENT_PORT, transport: 'tcp' },
    hold: () => ({
      send: (bytes, start, length) => {
        tell(bytes.slice(start, start + length));
      },
    }),
  };
  const out = new Uint8Array(LIMITS.messageBytesMax);
  const written = engine.handle(packet, 0, packet.length, client, out, 0);
  if (written >= 0) tell(written === 0 ? null : out.slice(0, written));
}
