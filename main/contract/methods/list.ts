/**
 * The rows of the method table that are about lists; methods.ts takes them in whole.
 */
import { z } from 'zod';
import { configSchema } from '../config.ts';

const count = z.number().min(0);
const none = z.strictObject({});
const named = z.strictObject({ name: z.string() });
const listSource = configSchema.shape.lists.unwrap().element;

export const listStatusSchema = z.object({
  name: z.string(),
  url: z.string(),
  format: z.string(),
  enabled: z.boolean(),
  /** Names this list contributes, as compiled; 0 while it has no usable copy. */
  names: count,
  /** Of the copy in use: lines = rules + comments + those ignored. All 0 until one was read. */
  lines: count,
  /** Lines that gave at least one rule. */
  rules: count,
  /** Comments and blank lines. */
  comments: count,
  /** Lines that are neither rules nor comments, by reason: how many, and up to three examples. */
  ignored: z.array(z.object({ reason: z.string(), lines: count, examples: z.array(z.string()) })),
  /** Time of the copy in use; null when there is none. */
  updatedAtMs: z.number().nullable(),
  /** Time of the last attempt; null before the first. */
  checkedAtMs: z.number().nullable(),
  state: z.enum(['ok', 'updating', 'failed', 'waiting', 'disabled']),
  /** Why the last update was not taken; '' when it was. */
  error: z.string(),
  /** The last time that another copy came into use; null before. */
  change: z
    .object({
      atMs: z.number(),
      /** Distinct names that came and went; null when there was nothing to compare with. */
      added: count.nullable(),
      removed: count.nullable(),
      /** What the copy did to the names asked for in the 24 hours before; null without a log. */
      replay: z
        .object({
          names: count,
          /** Of `names`, those that were not blocked. */
          used: count,
          newlyBlocked: count,
          newlyAllowed: count,
          blockedExamples: z.array(z.string()),
          allowedExamples: z.array(z.string()),
        })
        .nullable(),
    })
    .nullable(),
  /** A new copy that was not taken: why, and whether lists.accept can take it. */
  quarantine: z
    .object({
      kind: z.enum(['replay', 'collapse', 'parse-rate', 'not-a-list']),
      reason: z.string(),
      fetchedAtMs: z.number(),
      bytes: count,
      acceptable: z.boolean(),
    })
    .nullable(),
  /** The copies on disk, the one in use first; at most two. `names` counts repetitions too. */
  generations: z.array(
    z.object({
      inUse: z.boolean(),
      fetchedAtMs: z.number(),
      bytes: count,
      names: count,
      sha256: z.string(),
    }),
  ),
  /** A person went back to an older copy, which stays until the server has another. */
  rolledBack: z.boolean(),
});

/** What a well-known list is for; the last six are sets for parents and for security. */
export const LIST_CATEGORIES = [
  ...['general', 'ads', 'trackers', 'devices', 'regional', 'annoyances'],
  ...['malware', 'phishing', 'adult', 'gambling', 'social', 'bypass'],
] as const;

/** How many names a list has, roughly: below 10,000, 100,000, 500,000, and more. */
export const LIST_SIZES = ['small', 'medium', 'large', 'huge'] as const;

/** A well-known list, as resources/catalogue.yaml describes it. */
export const catalogueListSchema = z.strictObject({
  id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,47}$/),
  name: z.string().min(1).max(64),
  maintainer: z.string().min(1).max(64),
  homepage: z.url({ protocol: /^https$/ }),
  /** One sentence. */
  purpose: z.string().min(1).max(200),
  category: z.enum(LIST_CATEGORIES),
  /** As its maintainer names it. */
  licence: z.string().min(1).max(64),
  size: z.enum(LIST_SIZES),
  url: z.url({ protocol: /^https$/ }),
  format: z.enum(['hosts', 'domains', 'adblock', 'wildcard']),
  /** Names that other programs have for it. */
  alias: z.array(z.string()).default([]),
});
export type CatalogueList = z.output<typeof catalogueListSchema>;

const listsOutput = z.object({ lists: z.array(listStatusSchema), names: count });

export const LIST_METHODS = {
  'lists.list': {
    permission: 'read',
    input: none,
    output: listsOutput,
  },
  'lists.add': {
    permission: 'write',
    input: listSource,
    output: listsOutput,
  },
  'lists.remove': {
    permission: 'write',
    input: named,
    output: listsOutput,
  },
  'lists.enable': {
    permission: 'write',
    input: z.strictObject({ name: z.string(), enabled: z.boolean() }),
    output: listsOutput,
  },
  /** Sets what the list's names are used for; what is not given stays. */
  'lists.change': {
    permission: 'write',
    input: listSource.pick({ name: true, action: true, match: true, allowWide: true }),
    output: listsOutput,
  },
  /** Fetches now; without a name all enabled lists. Answers when the attempt has ended. */
  'lists.refresh': {
    permission: 'write',
    input: z.strictObject({ name: z.string().optional() }),
    output: listsOutput,
  },
  /** Takes the copy in quarantine anyway. */
  'lists.accept': { permission: 'write', input: named, output: listsOutput },
  /** Goes back to the copy before, until the server has another than the one given up. */
  'lists.rollback': { permission: 'write', input: named, output: listsOutput },
  /** Well-known lists; `added` is the name of the list in the settings, '' when it is not there. */
  'catalogue.list': {
    permission: 'read',
    input: none,
    output: z.object({
      lists: z.array(catalogueListSchema.extend({ added: z.string() })),
    }),
  },
  /** Adds a list of the catalogue under its own name. */
  'catalogue.add': {
    permission: 'write',
    input: z.strictObject({ id: z.string().max(48) }),
    output: listsOutput,
  },
} as const;
