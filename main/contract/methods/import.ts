/**
 * Methods that take settings over from other programs, and this program's own as one file; a part
 * of the table in methods.ts.
 */
import { z } from 'zod';
import { protectionSchema } from '../protection-state.ts';

const count = z.number().min(0);

/** What can be taken, and chosen with `only`. */
export const IMPORT_SECTIONS = [
  'lists',
  'rules',
  'groups',
  'clients',
  'records',
  'services',
  'policies',
  'safeSearch',
  'upstreams',
  'blocking',
] as const;
export type ImportSection = (typeof IMPORT_SECTIONS)[number];

export const importReportSchema = z.object({
  /** What the file is: "Pi-hole gravity.db", "AdGuard Home", ... */
  program: z.string(),
  /** False for a preview. */
  applied: z.boolean(),
  taken: z.array(
    z.object({
      section: z.enum(IMPORT_SECTIONS),
      /** New in the settings. */
      count,
      /** In the settings already. */
      known: count,
      /** Servers in the settings whose place those of the file take. */
      replaced: count,
      examples: z.array(z.string()),
    }),
  ),
  /** Most frequent reason first. */
  notTaken: z.array(
    z.object({
      section: z.enum([...IMPORT_SECTIONS, 'other']),
      why: z.string(),
      count,
      examples: z.array(z.string()),
    }),
  ),
});

/** Id of a file that was sent before: `POST /api/uploads`, or the desktop window's own channel. */
const upload = z.string().regex(/^[A-Za-z0-9_-]{22}$/, { error: 'an id that an upload returned' });

const input = z.strictObject({
  upload,
  /** What the file is called, where texts of several programs look alike. Default: no name. */
  name: z.string().max(255).optional(),
  /** Default: all sections. */
  only: z.array(z.enum(IMPORT_SECTIONS)).max(IMPORT_SECTIONS.length).optional(),
});

/** What a door answers to a file, or a piece of one, that was sent. */
export interface UploadReceipt {
  /** For the methods below. */
  readonly id: string;
  /** So far. */
  readonly bytes: number;
}

/** No method takes a path: files are sent and received, and whoever calls reads and writes them. */
export const IMPORT_METHODS = {
  /** What import.apply would do. Changes nothing; the upload stays for import.apply. */
  'import.preview': { permission: 'write', input, output: importReportSchema },
  /** Adds what the file of another program has to the settings; its upstreams replace those here. */
  'import.apply': { permission: 'write', input, output: importReportSchema },
  /** What a running import is doing. */
  'import.status': {
    permission: 'read',
    input: z.strictObject({}),
    output: z.object({
      running: z.boolean(),
      /** What is being read, for people; '' when nothing is. */
      stage: z.string(),
      elapsedMs: count,
    }),
  },
  /** Ends a running import; its call fails. */
  'import.cancel': {
    permission: 'write',
    input: z.strictObject({}),
    output: z.object({ cancelled: z.boolean() }),
  },
  /** Everything of this program's own as the text of one file, and a name for it. */
  'settings.export': {
    permission: 'write',
    input: z.strictObject({}),
    output: z.object({ name: z.string(), text: z.string() }),
  },
  /** Puts back what settings.export has given, in place of what is set now. */
  'settings.import': {
    permission: 'write',
    input: z.strictObject({ upload }),
    output: z.object({ savedAtMs: z.number(), lists: count, protection: protectionSchema }),
  },
} as const;
