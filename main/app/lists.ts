/** Opens the lists and tells when one begins to fail. Called by compose.ts in the main thread. */
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import type { ComposeOptions } from './options.ts';
import type { Config } from '../contract/config.ts';
import { LIMITS } from '../contract/limits.ts';
import { ListManager } from '../lists/list-manager.ts';
import { machineTrust } from '../net/trust-store.ts';
import { realClock } from '../system/clock.ts';
import { ListNews } from '../control/reports/list-news.ts';
import { resourcePath } from '../control/process/resources.ts';
import type { Late } from './late.ts';

export async function openLists(
  options: ComposeOptions,
  config: Config,
  lookup: LookupFunction,
  late: Late,
): Promise<ListManager> {
  const news = new ListNews();
  const tell = (): void => {
    for (const line of news.read(late.lists?.statuses() ?? [])) options.onProgress?.(line);
  };
  late.lists = await ListManager.open({
    directory: join(options.dataDirectory, 'lists'),
    sources: config.lists,
    refreshHours: config.listRefreshHours,
    lookup,
    trust: machineTrust,
    builtinDirectory: resourcePath('lists'),
    // At the start the log is still opening: what comes then, this machine had before.
    usedNames: async () => {
      const sinceMs = realClock.wallMs() - LIMITS.replayMs;
      return (await late.log?.usedNames(sinceMs, LIMITS.replayNamesMax)) ?? [];
    },
    onTable: () => {
      late.service?.tableChanged();
      options.onTable?.();
    },
    onStatus: () => {
      late.service?.stateChanged();
      tell();
    },
  });
  tell();
  return late.lists;
}
