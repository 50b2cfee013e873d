/**
 * The catalogue of services that can be blocked as a whole, resources/services.yaml. Read once, when
 * settings or a door first name a service: by whoever has the YAML parser loaded already, since the
 * start of the program does without it.
 */
import { readFileSync } from 'node:fs';
import type { Config } from '../../contract/config.ts';
import { invariant } from '../../contract/errors.ts';
import { resourcePath } from '../process/resources.ts';

export interface BlockableService {
  /** Lower-case letters, digits and "-". */
  readonly id: string;
  readonly title: string;
  /** social, messaging, video, music, games, shopping, ai, dating, files, other. */
  readonly category: string;
  /** nxdomain: for names whose makers ask for a negative answer. */
  readonly answer?: 'nxdomain';
  /** Each with all names below it. */
  readonly domains: readonly string[];
}

let known: readonly BlockableService[] | undefined;

/**
 * Reads the catalogue, once.
 *
 * @param parse  of the yaml package
 * @throws       when the program was installed incompletely
 */
export function readServices(parse: (text: string) => unknown): readonly BlockableService[] {
  if (known === undefined) {
    const text = readFileSync(resourcePath('services.yaml'), 'utf8');
    known = (parse(text) as { services: BlockableService[] }).services;
  }
  return known;
}

/** All services, in the order of the file; somebody must have read them. */
export function serviceCatalogue(): readonly BlockableService[] {
  invariant(known !== undefined, 'the catalogue of services has been read');
  return known;
}

/** Reads the catalogue if the settings name a service. */
export async function loadServices(config: Config): Promise<void> {
  if (namesServices(config)) await openServices();
}

/** All services, read now if they were not before. */
export async function openServices(): Promise<readonly BlockableService[]> {
  const { parse } = await import('yaml');
  return readServices(parse);
}

export function namesServices({ services, groups }: Config): boolean {
  return services.length > 0 || groups.some((group) => group.services.length > 0);
}
