/**
 * What settings mean after an import: a file of another program goes through reading, planning and
 * the settings text, and an engine with the result is asked.
 */
import { configSchema, type Config } from '../../../main/contract/config.ts';
import type { ImportSection } from '../../../main/contract/methods/import.ts';
import { RuleSet } from '../../../main/engine/filter/rule-set.ts';
import { parseList } from '../../../main/lists/compile/parse-list.ts';
import { RuleSetBuilder } from '../../../main/lists/compile/rule-set-builder.ts';
import { readImportBytes } from '../../../main/control/import/import-file.ts';
import { planImport, type ImportPlan } from '../../../main/control/import/import-plan.ts';
import { setSections } from '../../../main/control/settings/settings-sections.ts';
import { readSettings } from '../../../main/control/settings/settings-text.ts';
import { header, question, records } from '../../support/dns-wire.ts';
import { EngineHarness, FakeClient } from '../../support/engine-fakes.ts';
import { filtersOf } from '../../support/filters.ts';

export interface Options {
  /** What the file is called. */
  readonly name?: string;
  /** Settings before. */
  readonly before?: string;
  readonly only?: readonly ImportSection[];
  /** What lists hold, by URL. */
  readonly lists?: Readonly<Record<string, string>>;
  readonly nowMs?: number;
}

export interface Imported {
  readonly config: Config;
  readonly plan: ImportPlan;
  /** 'passed' for a name that goes upstream, 'blocked', or the records of a local answer. */
  ask(client: string, name: string, type?: string): string;
  /** Everything that is named as not taken, "section: example: why". */
  readonly left: string[];
}

export async function imported(
  content: string | Uint8Array,
  options: Options = {},
): Promise<Imported> {
  const { name = '', before = 'lists: []\n', only, lists = {}, nowMs } = options;
  const bytes = typeof content === 'string' ? Buffer.from(content) : content;
  const draft = await readImportBytes(bytes, name);
  const plan = planImport(readSettings(before, 'settings').config, draft, only);
  const { config } = readSettings(setSections(before, plan.wanted), 'settings');
  const listNames = new Map(config.lists.map((list, index) => [index + 1, list.name]));
  const filters = await filtersOf(configSchema.parse(config), {
    listNames,
    ...(nowMs !== undefined && { nowMs }),
  });
  const { answer: blockingAnswer, ttlSeconds: blockingTtlSeconds } = config.blocking;
  const engine = new EngineHarness({
    ...filters,
    lists: compiled(config, lists),
    ...{ blockingAnswer, blockingTtlSeconds },
  });
  return {
    config,
    plan,
    left: plan.notTaken.flatMap(({ section, why, examples }) =>
      (examples.length === 0 ? [''] : examples).map((one) => `${section}: ${one}: ${why}`),
    ),
    ask: (client, asked, type = 'A') => {
      const address = client.split('.').map(Number);
      const answer = engine.send(question(asked, type), new FakeClient(...address));
      if (answer === 'later') return 'passed';
      if (answer === null) return 'silence';
      const { outcome } = engine.sink.last;
      if (outcome === 'blocked') return 'blocked';
      const found = records(answer, 'answers').join(', ');
      return found === '' ? `${outcome} ${String(header(answer).rcode)}` : found;
    },
  };
}

/** The enabled lists in one rule set, each under the id of its place. */
function compiled(config: Config, contents: Readonly<Record<string, string>>): RuleSet {
  const builder = new RuleSetBuilder();
  for (const [index, list] of config.lists.entries()) {
    if (!list.enabled) continue;
    builder.beginList(index + 1);
    const { format, match, action } = list;
    const options = { format, ...(match && { match }), ...(action && { action }) };
    parseList(Buffer.from(contents[list.url] ?? ''), options, builder);
  }
  return RuleSet.open(builder.finish());
}
