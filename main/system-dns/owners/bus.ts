/**
 * Reads D-Bus through `busctl --json`, systemd's own client: it knows the wire format, asks polkit
 * where needed, and nothing of it has to be loaded into the guardian.
 */
import type { RunCommand } from '../../system/command.ts';

/** A value as busctl prints it: the signature, and the data with a {type, data} for each variant. */
interface BusVariant {
  readonly type: string;
  readonly data: unknown;
}

/** Reads all properties of an object, variants opened. @throws CommandError */
export async function busProperties(
  run: RunCommand,
  service: string,
  path: string,
  face: string,
): Promise<Record<string, unknown>> {
  const args = [service, path, 'org.freedesktop.DBus.Properties', 'GetAll', 's', face];
  const [first] = await busCall(run, args);
  return openVariants(first) as Record<string, unknown>;
}

/** Calls a method. @returns its results, variants opened; @throws CommandError */
export async function busCall(run: RunCommand, args: readonly string[]): Promise<unknown[]> {
  const text = await run('busctl', ['--system', '--json=short', 'call', ...args]);
  const reply = JSON.parse(text) as BusVariant;
  return (reply.data as unknown[]).map(openVariants);
}

/** True when a service runs now; asking does not start it. False without a bus. */
export async function isOnBus(run: RunCommand, service: string): Promise<boolean> {
  const bus = 'org.freedesktop.DBus';
  try {
    const args = [bus, '/org/freedesktop/DBus', bus, 'NameHasOwner', 's', service];
    const [owned] = await busCall(run, args);
    return owned === true;
  } catch {
    // No busctl or no bus: whoever owns the resolver here, it is no service on the bus.
    return false;
  }
}

function openVariants(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(openVariants);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value);
  if (entries.length === 2 && 'type' in value && 'data' in value) return openVariants(value.data);
  return Object.fromEntries(entries.map(([key, inner]) => [key, openVariants(inner)]));
}

/** Network bytes as text: [127,0,0,1] is "127.0.0.1", sixteen bytes an IPv6 address. */
export function addressText(bytes: readonly number[]): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups = Array.from({ length: 8 }, (_, index) =>
    (((bytes[index * 2] ?? 0) << 8) | (bytes[index * 2 + 1] ?? 0)).toString(16),
  );
  return shortest(groups);
}

/** RFC 5952 §4.2: the longest run of zero groups, at least two, becomes "::". */
function shortest(groups: readonly string[]): string {
  let best = { start: -1, length: 1 };
  for (let start = 0; start < groups.length; start++) {
    let length = 0;
    while (groups[start + length] === '0') length++;
    if (length > best.length) best = { start, length };
  }
  if (best.start < 0) return groups.join(':');
  const head = groups.slice(0, best.start).join(':');
  return `${head}::${groups.slice(best.start + best.length).join(':')}`;
}
