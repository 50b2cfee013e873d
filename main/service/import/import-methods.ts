/**
 * The methods import.*. What reads the files is loaded in their own process, at each call.
 */
import { basename } from 'node:path';
import type { MethodArguments, MethodOutput } from '../../contract/methods.ts';
import type { ConfigStore } from '../config-store.ts';
import { Importer } from './importer.ts';

type Report = MethodOutput<'import.apply'>;
type Input = MethodArguments<'import.apply'>;

/** The first two throw AppError IMPORT_REFUSED; apply also CONFIG_INVALID and CONFIG_UNWRITABLE. */
export function importHandlers(store: ConfigStore) {
  const importer = new Importer(store);
  return {
    'import.preview': ({ path, name, only }: Input): Promise<Report> =>
      importer.preview({ path, name: name ?? basename(path) }, only),
    'import.apply': ({ path, name, only }: Input): Promise<Report> =>
      importer.apply({ path, name: name ?? basename(path) }, only),
    'import.status': (): MethodOutput<'import.status'> => importer.status,
    'import.cancel': (): MethodOutput<'import.cancel'> => ({ cancelled: importer.cancel() }),
  };
}
