/**
 * Resolves host names for our own connections (list downloads) through the bootstrap servers only,
 * as a LookupFunction for node:http and node:net. Main thread.
 *
 * The system resolver may be Sluice itself, which may be waiting for just that list: asking it would
 * be a circle. Answers are not kept: a download every few hours needs no cache.
 */
import type { LookupAddress } from 'node:dns';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { COUNTER_BLOCK_SLOTS } from '../../contract/counters.ts';
import { systemClock } from '../clock.ts';
import { readAddresses, writeQuestion } from './address-question.ts';
import { CryptoRandom } from '../random.ts';
import type { PlainServer } from '../server-address.ts';
import { UpstreamPool } from './pool.ts';

/** Lookups at a time; the next fails with EAI_AGAIN. */
const LOOKUPS_MAX = 64;
/** Addresses of one family taken from an answer. */
const ADDRESSES_MAX = 16;

type Family = 4 | 6;
type Callback = Parameters<LookupFunction>[2];

/**
 * Makes a lookup over these servers. Literal addresses are returned as they are; "localhost" and
 * names below it are loopback (RFC 6761 §6.3). Open sockets do not keep the process alive.
 *
 * @returns  calls back with ENOTFOUND when the name does not exist or has no address, EAI_AGAIN
 *           when no server answered within LIMITS.upstreamBudgetMs
 */
export function createLookup(servers: readonly PlainServer[]): LookupFunction {
  const pool = new UpstreamPool({
    servers,
    clock: systemClock,
    random: new CryptoRandom(),
    counters: { slots: new Float64Array(COUNTER_BLOCK_SLOTS) },
  });
  let running = 0;
  return (hostname, options, callback) => {
    const families = wantedFamilies(options.family);
    if (running >= LOOKUPS_MAX) {
      setImmediate(() => {
        fail(callback, hostname, 'EAI_AGAIN');
      });
      return;
    }
    running++;
    void resolveAll(pool, hostname, families).then((results) => {
      running--;
      answer(callback, hostname, options.all === true, results);
    });
  };
}

/** What one family's question came to: addresses, perhaps none, or null when nobody answered. */
type FamilyResult = LookupAddress[] | null;

async function resolveAll(
  pool: UpstreamPool,
  hostname: string,
  families: readonly Family[],
): Promise<FamilyResult[]> {
  const literal = isIP(hostname);
  if (literal !== 0) {
    const isWanted = families.some((family) => family === literal);
    return [isWanted ? [{ address: hostname, family: literal }] : []];
  }
  if (/^(.*\.)?localhost\.?$/i.test(hostname)) return [families.map(loopback)];
  return Promise.all(families.map((family) => resolveFamily(pool, hostname, family)));
}

function resolveFamily(
  pool: UpstreamPool,
  hostname: string,
  family: Family,
): Promise<FamilyResult> {
  const question = writeQuestion(hostname, family);
  if (question === null) return Promise.resolve([]);
  return new Promise((resolve) => {
    pool.exchange(question, question.length, ({ reply }) => {
      const addresses = reply === null ? null : readAddresses(reply, family, ADDRESSES_MAX);
      resolve(addresses?.map((address) => ({ address, family })) ?? null);
    });
  });
}

function answer(
  callback: Callback,
  hostname: string,
  wantsAll: boolean,
  results: readonly FamilyResult[],
): void {
  const addresses = results.flatMap((result) => result ?? []);
  const [first] = addresses;
  if (first === undefined) {
    fail(callback, hostname, results.includes(null) ? 'EAI_AGAIN' : 'ENOTFOUND');
  } else if (wantsAll) {
    callback(null, addresses);
  } else {
    callback(null, first.address, first.family);
  }
}

/** In the form of node:dns, which HTTP clients expect. */
function fail(callback: Callback, hostname: string, code: 'ENOTFOUND' | 'EAI_AGAIN'): void {
  const why =
    code === 'ENOTFOUND' ? 'has no address' : 'could not be asked: no bootstrap server answered';
  const error = Object.assign(new Error(`lookup of ${hostname}: the name ${why}`), {
    code,
    hostname,
    syscall: 'lookup',
  });
  callback(error, '', 0);
}

function wantedFamilies(family: number | 'IPv4' | 'IPv6' | undefined): readonly Family[] {
  if (family === 4 || family === 'IPv4') return [4];
  if (family === 6 || family === 'IPv6') return [6];
  return [4, 6];
}

function loopback(family: Family): LookupAddress {
  return { address: family === 4 ? '127.0.0.1' : '::1', family };
}
