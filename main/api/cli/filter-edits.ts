/**
 * Commands about policies and services that look first at what is set: `sluice policies enable`,
 * `sluice services block`. Used by cli-filters.ts.
 */
import { AppError } from '../../contract/errors.ts';
import type { MethodOutput } from '../../contract/methods/methods.ts';
import { nearest, quote } from '../../contract/schema-text.ts';
import type { CliClient } from './client.ts';

type Client = Pick<CliClient, 'call'>;
type Service = MethodOutput<'services.list'>['catalogue'][number];

/** Switches a policy on or off. @throws AppError ENTRY_UNKNOWN */
export async function enablePolicy(
  client: Client,
  name: string,
  enabled: boolean,
): Promise<MethodOutput<'policies.list'>> {
  const { policies } = (await client.call('policies.list', {})) as MethodOutput<'policies.list'>;
  const policy = policies.find((one) => one.name === name);
  if (policy === undefined) {
    const names = policies.map((one) => one.name);
    throw new AppError('ENTRY_UNKNOWN', `there is no policy ${quote(name)}${meant(name, names)}`);
  }
  const input = { policy: { ...policy, enabled } };
  return (await client.call('policies.put', input)) as MethodOutput<'policies.list'>;
}

/**
 * Blocks services for everybody, or stops it; the others stay as they are.
 *
 * @param named  ids or names, in any letter case
 * @throws       AppError ARGUMENT_INVALID for one that does not exist; then nothing is changed
 */
export async function blockServices(
  client: Client,
  named: readonly string[],
  isBlocked: boolean,
): Promise<MethodOutput<'services.list'>> {
  const found = (await client.call('services.list', {})) as MethodOutput<'services.list'>;
  const ids = new Set(named.map((text) => serviceId(text, found.catalogue)));
  const others = found.services.filter((id) => !ids.has(id));
  const services = isBlocked ? [...new Set([...found.services, ...ids])] : others;
  return (await client.call('services.set', { services })) as MethodOutput<'services.list'>;
}

function serviceId(text: string, catalogue: readonly Service[]): string {
  const wanted = text.trim().toLowerCase();
  const service =
    catalogue.find(({ id }) => id === wanted) ??
    catalogue.find(({ title }) => title.toLowerCase() === wanted);
  if (service !== undefined) return service.id;
  const known = catalogue.flatMap(({ id, title }) => [id, title]);
  throw new AppError(
    'ARGUMENT_INVALID',
    `there is no service ${quote(text)}${meant(text, known)}; "sluice services" lists them`,
  );
}

function meant(text: string, known: readonly string[]): string {
  return known.length === 0
    ? ''
    : `, the nearest known one is ${quote(nearest(text, known).candidate)}`;
}
