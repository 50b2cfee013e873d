/**
 * Who may ask, and how often: the access list and the rate limit, one look per packet. Made by
 * dataplane/, called by Engine.handle before anything else.
 *
 * The rate limit is one token bucket a client (an IPv4 address, an IPv6 /56), kept as the time at
 * which the bucket will be full again (the generic cell rate algorithm). Buckets lie in memory that
 * all data-plane threads share, so a client has one limit however the kernel spreads its packets:
 *
 *   word 0: seed of the hash | words 4 to 7: who was denied last | sets of WAYS buckets: tag, full
 *   again at (µs, wraps)
 *
 * UDP and TCP take from the same bucket, so a client has one rate in all; but over TCP, where his
 * address is proven, the bucket is deeper. A forger who keeps it empty over UDP cannot keep its owner,
 * who got TC=1, from asking over TCP: what TCP takes out, UDP has to wait for.
 *
 * A client without a bucket takes the one of its set that is full the longest. Two threads may take
 * one at the same moment; one of the two clients then begins anew, which harms nobody.
 */
import { LIMITS } from '../../contract/limits.ts';
import { hashMix } from '../../dns/name.ts';
import { isIn, type Access, type Network } from '../filter/engine-config.ts';

export const GATE_OPEN = 0;
/** Not on the access list. */
export const GATE_DENIED = 1;
/** Over the rate. */
export const GATE_LIMITED = 2;
export type GateVerdict = typeof GATE_OPEN | typeof GATE_DENIED | typeof GATE_LIMITED;

/** A bucket holds this many seconds' worth of tokens for UDP, and for TCP. */
export const BURST_SECONDS = 2;
export const BURST_TCP_SECONDS = 3;

const WAYS = 4;
const BUCKET_WORDS = 2;
const SET_WORDS = WAYS * BUCKET_WORDS;
const SETS = LIMITS.rateClientsMax / WAYS;
const HEADER_WORDS = 8;
const DENIED_WORD = 4;
const BURST_US = BURST_SECONDS * 1e6;
const BURST_TCP_US = BURST_TCP_SECONDS * 1e6;

/** Bytes of the shared table. */
export const GATE_TABLE_BYTES = (HEADER_WORDS + SETS * SET_WORDS) * 4;

/** Networks of the last clients, so that the lists are not gone through for each packet. */
const KNOWN_SLOTS = 256;
const KNOWN_WORDS = 5;
const ALLOWED = 1;
const EXEMPT = 2;
const KNOWN = 4;

const V4_PREFIX_WORD = 0x0000ffff;
const V6_CLIENT_MASK = 0xffffff00 | 0;

/** Makes the table that all threads share. @param seed  unpredictable, 32 bits */
export function createGateTable(seed: number): SharedArrayBuffer {
  const buffer = new SharedArrayBuffer(GATE_TABLE_BYTES);
  new Int32Array(buffer)[0] = seed;
  return buffer;
}

/**
 * The client that was not on the access list last, 16 bytes as in Client; null when there was none.
 * Two threads may write at once: it is for people to read.
 */
export function lastDenied(table: SharedArrayBuffer): Uint8Array | null {
  const words = new Int32Array(table, DENIED_WORD * 4, 4);
  if (words.every((part) => part === 0)) return null;
  const bytes = new DataView(new ArrayBuffer(16));
  for (let index = 0; index < 4; index++) bytes.setInt32(index * 4, words[index] as number);
  return new Uint8Array(bytes.buffer);
}

export class ClientGate {
  readonly #table: Int32Array;
  readonly #seed: number;
  /** Taken off this thread's clock to make one that all threads share; microseconds. */
  readonly #originUs: number;
  readonly #known = new Int32Array(KNOWN_SLOTS * KNOWN_WORDS);
  #allow: readonly Network[] = [];
  #exempt: readonly Network[] = [];
  #isOpenToAll = true;
  /** Microseconds a query costs; 0: no limit. */
  #costUs = 0;

  constructor(table: SharedArrayBuffer, originUs: number) {
    this.#table = new Int32Array(table);
    this.#seed = this.#table[0] as number;
    this.#originUs = originUs | 0;
  }

  /** Takes effect with the next packet. */
  configure(access: Access): void {
    this.#allow = access.allow;
    this.#exempt = access.exempt;
    this.#isOpenToAll = access.allow.some(({ bits }) => bits === 0);
    const rate = access.queriesPerSecond;
    this.#costUs = rate === 0 ? 0 : Math.max(Math.round(1e6 / rate), 1);
    this.#known.fill(0);
  }

  /** Whether the access list has the address. */
  allows(address: Uint8Array): boolean {
    if (this.#isOpenToAll || (this.#factsOf(address) & ALLOWED) !== 0) return true;
    this.#noteDenied(address);
    return false;
  }

  /**
   * @param address  16 bytes, as in Client
   * @param nowUs    this thread's clock, whole microseconds, low 32 bits, signed
   * @param isTcp    whether it came over TCP
   */
  admit(address: Uint8Array, nowUs: number, isTcp: boolean): GateVerdict {
    const hasLimit = this.#costUs !== 0;
    if (this.#isOpenToAll && !hasLimit) return GATE_OPEN;
    const facts = this.#factsOf(address);
    if (!this.#isOpenToAll && (facts & ALLOWED) === 0) {
      this.#noteDenied(address);
      return GATE_DENIED;
    }
    if (!hasLimit || (facts & EXEMPT) !== 0) return GATE_OPEN;
    return this.#takeToken(address, nowUs, isTcp ? BURST_TCP_US : BURST_US)
      ? GATE_OPEN
      : GATE_LIMITED;
  }

  #noteDenied(address: Uint8Array): void {
    for (let index = 0; index < 4; index++) {
      this.#table[DENIED_WORD + index] = word(address, index * 4);
    }
  }

  #factsOf(address: Uint8Array): number {
    const known = this.#known;
    const first = word(address, 0);
    const second = word(address, 4);
    const third = word(address, 8);
    const fourth = word(address, 12);
    const slot = hashMix(first ^ second ^ third ^ fourth) & (KNOWN_SLOTS - 1);
    const at = slot * KNOWN_WORDS;
    const isKnown =
      known[at] === first &&
      known[at + 1] === second &&
      known[at + 2] === third &&
      known[at + 3] === fourth;
    const before = known[at + 4] as number;
    if (isKnown && before !== 0) return before;
    const facts =
      KNOWN |
      (isIn(this.#allow, address) ? ALLOWED : 0) |
      (isIn(this.#exempt, address) ? EXEMPT : 0);
    known[at] = first;
    known[at + 1] = second;
    known[at + 2] = third;
    known[at + 3] = fourth;
    known[at + 4] = facts;
    return facts;
  }

  #takeToken(address: Uint8Array, nowUs: number, burstUs: number): boolean {
    const table = this.#table;
    const now = (nowUs + this.#originUs) | 0;
    const hash = this.#clientHash(address);
    const tag = hashMix(hash ^ this.#seed) | 1;
    const at = this.#bucketOf(hash, tag, now);
    for (;;) {
      const before = Atomics.load(table, at + 1);
      const ahead = (before - now) | 0;
      // Beyond any burst: the clock has wrapped since, and the bucket is long full.
      const isFull = ahead <= 0 || ahead > BURST_TCP_US + this.#costUs;
      const next = ((isFull ? now : before) + this.#costUs) | 0;
      if (((next - now) | 0) > burstUs) return false;
      if (Atomics.compareExchange(table, at + 1, before, next) === before) return true;
    }
  }

  /** Position of the client's bucket; of one taken over when it has none. */
  #bucketOf(hash: number, tag: number, now: number): number {
    const table = this.#table;
    const set = HEADER_WORDS + (hash & (SETS - 1)) * SET_WORDS;
    let oldest = set;
    let least = Infinity;
    for (let at = set; at < set + SET_WORDS; at += BUCKET_WORDS) {
      const owner = Atomics.load(table, at);
      if (owner === tag) return at;
      const ahead = owner === 0 ? -Infinity : ((table[at + 1] as number) - now) | 0;
      if (ahead < least) {
        least = ahead;
        oldest = at;
      }
    }
    Atomics.store(table, oldest, tag);
    Atomics.store(table, oldest + 1, now);
    return oldest;
  }

  /** An IPv4 address, or the /56 of an IPv6 address, which one customer has. RFC 6177 §2. */
  #clientHash(address: Uint8Array): number {
    const first = word(address, 0);
    const second = word(address, 4);
    const third = word(address, 8);
    const isV4 = first === 0 && second === 0 && third === V4_PREFIX_WORD;
    if (isV4) return hashMix(word(address, 12) ^ this.#seed);
    return hashMix(hashMix(first ^ this.#seed) ^ (second & V6_CLIENT_MASK));
  }
}

function word(bytes: Uint8Array, at: number): number {
  return (
    ((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  );
}
