/**
 * The methods import.*. What reads the files is loaded in their own process, at each call.
 */
import type { Caller, MethodArguments, MethodOutput } from '../../contract/methods/methods.ts';
import type { ConfigStore } from '../settings/config-store.ts';
import type { Uploads } from './uploads.ts';
import { Importer, type ImportFile } from '../import/importer.ts';

type Report = MethodOutput<'import.apply'>;
type Input = MethodArguments<'import.apply'>;

/**
 * The first two throw AppError UPLOAD_UNKNOWN and IMPORT_REFUSED; apply also CONFIG_INVALID and
 * CONFIG_UNWRITABLE. The upload is gone once it was applied.
 */
export function importHandlers(store: ConfigStore, uploads: Pick<Uploads, 'fileOf' | 'drop'>) {
  const importer = new Importer(store);
  // Only a person on this machine may name files of it as lists (file-lists.ts).
  const fileOf = ({ upload, name = '' }: Input, { isLocal }: Caller): ImportFile => ({
    path: uploads.fileOf(upload),
    name,
    takesFiles: isLocal,
  });
  return {
    'import.preview': (input: Input, caller: Caller): Promise<Report> =>
      importer.preview(fileOf(input, caller), input.only),
    'import.apply': async (input: Input, caller: Caller): Promise<Report> => {
      const report = await importer.apply(fileOf(input, caller), input.only);
      await uploads.drop(input.upload);
      return report;
    },
    'import.status': (): MethodOutput<'import.status'> => importer.status,
    'import.cancel': (): MethodOutput<'import.cancel'> => ({ cancelled: importer.cancel() }),
  };
}
