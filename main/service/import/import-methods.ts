/**
 * The methods import.preview and import.apply. The readers are loaded at the first call.
 */
import type { ImportSection } from '../../contract/import-methods.ts';
import type { MethodArguments, MethodOutput } from '../../contract/methods.ts';
import type { ConfigStore } from '../config-store.ts';

type Report = MethodOutput<'import.apply'>;
type Input = MethodArguments<'import.apply'>;

/** Both throw AppError IMPORT_REFUSED; apply also CONFIG_INVALID and CONFIG_UNWRITABLE. */
export function importHandlers(store: ConfigStore) {
  return {
    'import.preview': async ({ path, only }: Input): Promise<Report> => {
      const { report } = await readAndPlan(path, only);
      return report(store.config, false);
    },
    'import.apply': async ({ path, only }: Input): Promise<Report> => {
      const { report, write } = await readAndPlan(path, only);
      const before = store.config;
      let applied = report(before, true);
      await store.editText((text, config) => {
        applied = report(config, true);
        return write(text, config);
      });
      return applied;
    },
  };
}

async function readAndPlan(path: string, only: readonly ImportSection[] | undefined) {
  const { readImport } = await import('./import-file.ts');
  const { planImport } = await import('./import-plan.ts');
  const { setSections } = await import('../settings-sections.ts');
  const draft = await readImport(path);
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
