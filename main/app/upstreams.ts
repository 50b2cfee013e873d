/**
 * Opens what knows the upstream servers: address book, notices, and the lookup that downloads use.
 * Called by compose.ts in the main thread.
 */
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import type { Config } from '../contract/config.ts';
import { createLookup } from '../net/upstream/bootstrap.ts';
import { expandServers } from '../net/upstream/system-servers.ts';
import { AddressBook } from '../control/machine/address-book.ts';
import { realClock } from '../system/clock.ts';
import type { Health } from '../control/process/health.ts';
import {
  hostsToResolve,
  UpstreamNotices,
  upstreamUse,
} from '../control/machine/upstream-notices.ts';
import type { Late } from './late.ts';
import type { PlaneOptions } from './plane.ts';

/** What the data plane needs to know about upstreams, and who keeps it up to date. */
export function openUpstreams(
  dataDirectory: string,
  config: Config,
  lookup: LookupFunction,
  health: Health,
  late: Late,
) {
  const upstreamNotices = new UpstreamNotices(health);
  const addressBook = AddressBook.open({
    ...{ lookup, clock: realClock },
    file: join(dataDirectory, 'upstream-addresses.json'),
    onAddresses: (addresses) => late.plane?.setAddresses(addresses),
    onTrouble: (host, reason) => {
      upstreamNotices.noAddress(host, reason);
      late.service?.stateChanged();
    },
    onSaveFailed: (reason) => {
      health.setNotice('addresses', `Addresses of upstreams are not remembered: ${reason}.`);
    },
    onDamaged: (sentence) => {
      health.setNotice('addresses', `Addresses of upstreams are looked up again: ${sentence}.`);
    },
  });
  addressBook.setHosts(hostsToResolve(config));
  const planeOptions: Pick<PlaneOptions, 'upstreams' | 'upstreamUse' | 'addresses' | 'onUpstream'> =
    {
      upstreams: config.dns.upstreams,
      upstreamUse: upstreamUse(config),
      addresses: addressBook.addresses,
      onUpstream: (news) => {
        if (news.kind === 'unreachable') addressBook.refresh(news.host);
        else upstreamNotices.trouble(news.upstream, news.reason);
        late.service?.stateChanged();
      },
    };
  return { addressBook, upstreamNotices, planeOptions };
}

/** A lookup whose servers can be exchanged while downloads use it. */
export function bootstrapLookup(config: Config, listen: readonly string[]) {
  let current = createLookup(expandServers(config.dns.bootstrap, listen));
  const lookup: LookupFunction = (hostname, options, callback) => {
    current(hostname, options, callback);
  };
  return {
    lookup,
    set: (servers: readonly string[]) => {
      current = createLookup(expandServers(servers, listen));
    },
  };
}
