/** The tests of plain upstreams again, over sockets that receive and send in batches. */
import { describe } from 'node:test';
import { NativeUdpClient } from '../../main/net/transport/native-udp-client.ts';
import { useUdpClient } from '../support/net-fakes.ts';
import { builtAddon, missingForAddon } from './built-addon.ts';

if (missingForAddon === false) {
  const addon = await builtAddon();
  useUdpClient((counters) => new NativeUdpClient(addon, counters));
  await import('../net/upstream/pool.test.ts');
  await import('../net/upstream/strategies.test.ts');
} else {
  describe('plain upstreams in batches', { skip: missingForAddon }, () => undefined);
}
