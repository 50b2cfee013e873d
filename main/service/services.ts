/**
 * The catalogue of services that can be blocked as a whole, resources/services.yaml. Read once,
 * when settings or a door first name a service; used by the settings check, services-table.ts and
 * the methods.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { LIMITS } from '../contract/limits.ts';
import { resourcePath } from './resources.ts';

export const SERVICE_CATEGORIES = [
  ...['social', 'messaging', 'video', 'music', 'games', 'shopping', 'ai', 'dating', 'news'],
  ...['files', 'other'],
] as const;

const catalogueSchema = z.strictObject({
  services: z
    .array(
      z.strictObject({
        id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,31}$/),
        title: z.string().min(1).max(64),
        category: z.enum(SERVICE_CATEGORIES),
        /** nxdomain: for names whose makers ask for a negative answer. */
        answer: z.enum(['blocked', 'nxdomain']).default('blocked'),
        /** Each with all names below it. */
        domains: z.array(z.string().regex(/^[a-z0-9.-]+$/)).min(1),
      }),
    )
    .max(LIMITS.servicesMax),
});

export type BlockableService = z.infer<typeof catalogueSchema>['services'][number];

let known: readonly BlockableService[] | undefined;

/** All services, in the order of the file. @throws when the program was installed incompletely */
export function serviceCatalogue(): readonly BlockableService[] {
  known ??= catalogueSchema.parse(
    parse(readFileSync(resourcePath('services.yaml'), 'utf8')),
  ).services;
  return known;
}
