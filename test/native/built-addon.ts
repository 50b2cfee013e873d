/** The UDP add-on for tests: builds it when needed, and says by name what is missing. */
import { loadUdpAddon, type UdpAddon } from '../../main/net/native/native-udp-addon.ts';
import { buildNative } from '../../tools/build-native.ts';
import { missingTools } from '../support/tools.ts';

/** For node:test's `skip`. */
export const missingForAddon: string | false =
  process.platform === 'linux' ? missingTools('cc') : 'batched UDP exists for Linux only';

/** @throws Error with the compiler's words when it cannot be built */
export async function builtAddon(): Promise<UdpAddon> {
  const lines: string[] = [];
  const isBuilt = await buildNative((line) => lines.push(line));
  const { addon, reason } = loadUdpAddon({});
  if (!isBuilt || addon === null) throw new Error(`${lines.join('\n')} ${reason}`);
  return addon;
}
