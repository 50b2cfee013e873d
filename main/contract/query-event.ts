/**
 * One answered query, as people and doors see it. The log ring carries the same facts as a
 * fixed-size binary record (log/record.ts).
 */
import type { OutcomeName, ReasonName } from './outcome.ts';

export interface QueryEvent {
  /** Row number in the log database; 0 for a live row that is not stored. Grows with time. */
  readonly id: number;
  /** When the query arrived, milliseconds since 1970. */
  readonly timeMs: number;
  /** Address without port; IPv4 in dotted form. Truncated to /24 or /48 in anonymous mode. */
  readonly client: string;
  /** What the settings call that client; '' for none. Put in by the control plane, never stored. */
  readonly clientName: string;
  /** Presentation form, lower case, no trailing dot; "." for the root; "" when malformed. */
  readonly name: string;
  /** Query type number, e.g. 1 for A. */
  readonly type: number;
  /** Mnemonic, or TYPE123. RFC 3597 §5. */
  readonly typeName: string;
  readonly outcome: OutcomeName;
  readonly reason: ReasonName;
  /** Response code number of the answer, extended bits included. */
  readonly rcode: number;
  /** Name of the list that decided; "" when none did. "rules" for the user's own. */
  readonly list: string;
  /** The listed name that decided, e.g. "doubleclick.net"; "" when none did. */
  readonly matchedName: string;
  /** Address of the upstream that answered; "" when none was asked. */
  readonly upstream: string;
  /** From receipt of the query to sending of the answer, in microseconds. */
  readonly durationUs: number;
  readonly transport: 'udp' | 'tcp';
}
