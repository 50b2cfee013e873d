/**
 * The methods import.preview and import.apply. The readers are loaded at the first call.
 */
import type { ImportSection } from '../../contract/import-methods.ts';
import type { Caller, MethodArguments, MethodOutput } from '../../contract/methods.ts';
import type { ConfigStore } from '../config-store.ts';
import { isFileList } from '../file-lists.ts';
import type { Uploads } from '../uploads.ts';
import type { ImportDraft } from './draft.ts';

type Report = MethodOutput<'import.apply'>;
type Input = MethodArguments<'import.apply'>;

/**
 * Both throw AppError UPLOAD_UNKNOWN and IMPORT_REFUSED; apply also CONFIG_INVALID and
 * CONFIG_UNWRITABLE. The upload is gone once it was applied.
 */
export function importHandlers(store: ConfigStore, uploads: Pick<Uploads, 'fileOf' | 'drop'>) {
  return {
    'import.preview': async ({ upload, only }: Input, caller: Caller): Promise<Report> => {
      const { report } = await readAndPlan(uploads.fileOf(upload), only, caller);
      return report(store.config, false);
    },
    'import.apply': async ({ upload, only }: Input, caller: Caller): Promise<Report> => {
      const { report, write } = await readAndPlan(uploads.fileOf(upload), only, caller);
      const before = store.config;
      let applied = report(before, true);
      await store.editText((text, config) => {
        applied = report(config, true);
        return write(text, config);
      });
      await uploads.drop(upload);
      return applied;
    },
  };
}

async function readAndPlan(
  path: string,
  only: readonly ImportSection[] | undefined,
  caller: Caller,
) {
  const { readImport } = await import('./import-file.ts');
  const { planImport } = await import('./import-plan.ts');
  const { setSections } = await import('../settings-sections.ts');
  const draft = await readImport(path);
  if (!caller.isLocal) leaveOutFiles(draft);
  type Config = ConfigStore['config'];
  return {
    report: (config: Config, applied: boolean): Report => {
      const { taken, notTaken } = planImport(config, draft, only);
      return { program: draft.program, applied, taken, notTaken };
    },
    write: (text: string, config: Config): string =>
      setSections(text, planImport(config, draft, only).wanted),
  };
}

/** Lists in files of this machine (file-lists.ts) are noted, not taken. */
function leaveOutFiles(draft: ImportDraft): void {
  const files = draft.lists.filter(isFileList);
  for (const list of files) {
    draft.lists.splice(draft.lists.indexOf(list), 1);
    draft.skip('lists', list.url, 'a file: "sluice import" on the machine itself can take it');
  }
}
