/**
 * Edits a settings file until it is killed; run by config-store.test.ts. Prints a line an edit.
 */
import { ConfigStore } from '../../main/control/settings/config-store.ts';
import { resourcePath } from '../../main/control/process/resources.ts';
import { planAddRule, planRemoveRule } from '../../main/control/settings/rule-edits.ts';

const [file = ''] = process.argv.slice(2);
const store = await ConfigStore.open({ file, templateFile: resourcePath('sluice.yaml') });
for (let round = 0; ; round++) {
  const rule = `||n${String(round % 50)}.example^`;
  const isThere = store.config.rules.includes(rule);
  await store.edit('rules', (config) =>
    isThere && round % 50 > 0 ? planRemoveRule(config, rule) : planAddRule(config, rule),
  );
  process.stdout.write(`${rule}\n`);
}
