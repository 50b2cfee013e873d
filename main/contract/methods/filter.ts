/**
 * Methods about policies, clients, groups, services, safe search, bypass prevention and local
 * records; a part of the table in methods.ts. "put" adds a whole object, or replaces the one with
 * its name; each is one change of the settings file, whose comments stay.
 */
import { z } from 'zod';
import {
  bypassSchema,
  clientSchema,
  groupSchema,
  policySchema,
  recordSchema,
  safeSearchSchema,
  serviceIds,
} from '../filter-config.ts';

const none = z.strictObject({});
const named = z.strictObject({ name: z.string().min(1).max(64) });
const was = z.string().min(1).max(64).optional();

const policyList = z.object({
  policies: z.array(policySchema),
  /** Names of those that are enabled and whose schedule holds now. */
  inForce: z.array(z.string()),
});
const clientList = z.object({ clients: z.array(clientSchema), groups: z.array(groupSchema) });
const recordList = z.object({ records: z.array(recordSchema) });
const serviceList = z.object({
  /** All that can be blocked. */
  catalogue: z.array(
    z.object({
      id: z.string(),
      title: z.string(),
      category: z.string(),
      domains: z.array(z.string()),
    }),
  ),
  /** Blocked for everybody. */
  services: serviceIds,
  safeSearch: safeSearchSchema,
  bypass: bypassSchema,
});

export const FILTER_METHODS = {
  'policies.list': { permission: 'read', input: none, output: policyList },
  'policies.put': {
    permission: 'write',
    /** `was`: the name it had until now. */
    input: z.strictObject({ policy: policySchema, was }),
    output: policyList,
  },
  'policies.remove': { permission: 'write', input: named, output: policyList },
  'clients.list': { permission: 'read', input: none, output: clientList },
  'clients.put': {
    permission: 'write',
    input: z.strictObject({ client: clientSchema, was }),
    output: clientList,
  },
  'clients.remove': { permission: 'write', input: named, output: clientList },
  'groups.put': {
    permission: 'write',
    input: z.strictObject({ group: groupSchema, was }),
    output: clientList,
  },
  'groups.remove': { permission: 'write', input: named, output: clientList },
  'services.list': { permission: 'read', input: none, output: serviceList },
  'services.set': {
    permission: 'write',
    input: z.strictObject({ services: serviceIds }),
    output: serviceList,
  },
  'services.safe-search': { permission: 'write', input: safeSearchSchema, output: serviceList },
  'services.bypass': { permission: 'write', input: bypassSchema, output: serviceList },
  'records.list': { permission: 'read', input: none, output: recordList },
  /** Adds a record; one that is there with another TTL gets the new one. */
  'records.put': {
    permission: 'write',
    input: z.strictObject({ record: recordSchema }),
    output: recordList,
  },
  /** Without type all of a name, without value all of a type. */
  'records.remove': {
    permission: 'write',
    input: z.strictObject({
      name: z.string().min(1).max(254),
      type: recordSchema.shape.type.optional(),
      value: z.string().max(4_096).optional(),
    }),
    output: recordList,
  },
} as const;
