/** Finds out for whom `check` is asked: an address, and what the settings know about it. */
import { isIP } from 'node:net';
import type { Config } from '../../contract/config.ts';
import type { ClientSettings } from '../../contract/filter-config.ts';
import { AppError } from '../../contract/errors.ts';
import type { MethodOutput } from '../../contract/methods/methods.ts';
import type { PolicyMessage } from '../../dataplane/messages.ts';
import type { EngineConfig } from '../../engine/filter/engine-config.ts';
import { addressText } from '../../dns/address-text.ts';
import { parseAddress } from '../../net/listen/client-address.ts';
import { maskedBytes, parseClientId } from '../policy/client-id.ts';

export interface CheckedClient {
  /** 16 bytes, as in engine/query/ports.ts Client. */
  readonly address: Uint8Array;
  readonly shown: MethodOutput<'check'>['client'];
}

const ADDRESS_BYTES = 16;

/**
 * @param text    an address, the name of a client in the settings, or undefined for nobody
 * @param engineConfig  opened from the message
 * @throws        AppError ARGUMENT_INVALID when it is neither, or has no address now
 */
export function findClient(
  text: string | undefined,
  config: Pick<Config, 'clients'>,
  message: PolicyMessage,
  engineConfig: EngineConfig,
): CheckedClient {
  if (text === undefined) return { address: new Uint8Array(ADDRESS_BYTES), shown: null };
  const address = isIP(text) > 0 ? bytesOf(text) : addressOf(text, config, message, engineConfig);
  const name = engineConfig.clients?.find(address).name ?? '';
  const client = config.clients.find((one) => one.name === name);
  const shown = {
    address: addressText(address, 0),
    name,
    group: client?.group ?? '',
    knownBy: client ? knownBy(client, address) : '',
  };
  return { address, shown };
}

function bytesOf(text: string): Uint8Array {
  const bytes = new Uint8Array(ADDRESS_BYTES);
  parseAddress(text, bytes);
  return bytes;
}

/** The first address that the data plane knows this client by. */
function addressOf(
  text: string,
  { clients }: Pick<Config, 'clients'>,
  { filters }: PolicyMessage,
  engineConfig: EngineConfig,
): Uint8Array {
  const wanted = text.toLowerCase();
  const found = clients.find(({ name }) => name.toLowerCase() === wanted);
  if (!found) {
    throw new AppError(
      'ARGUMENT_INVALID',
      `client: "${text}" is neither an address nor the name of a client in the settings`,
    );
  }
  for (const { bytes, profile } of filters?.regions ?? []) {
    const isHis = filters?.profiles[profile]?.name === found.name;
    if (isHis && engineConfig.clients?.find(bytes).name === found.name) return bytes;
  }
  throw new AppError(
    'ARGUMENT_INVALID',
    `client: no address of "${found.name}" is known now; give the address itself`,
  );
}

/** The longest of its ids that the address is in; else it is known by its MAC address. */
function knownBy({ ids }: ClientSettings, address: Uint8Array): string {
  let best = '';
  let longest = -1;
  for (const text of ids) {
    const id = parseClientId(text);
    if (id?.kind === 'mac' && longest < 0) best ||= text;
    if (id?.kind !== 'network' || id.network.bits <= longest) continue;
    const { bytes, bits } = id.network;
    if (Buffer.compare(maskedBytes(bytes, bits), maskedBytes(address, bits)) !== 0) continue;
    best = text;
    longest = bits;
  }
  return best;
}
