/**
 * The methods about lists and the catalogue of lists. Used by service.ts.
 */
import { AppError } from '../../contract/errors.ts';
import type {
  Caller,
  MethodArguments,
  MethodName,
  MethodOutput,
} from '../../contract/methods/methods.ts';
import type { ConfigStore } from '../settings/config-store.ts';
import {
  planAddList,
  planChangeList,
  planEnableList,
  planRemoveList,
} from '../settings/list-edits.ts';
import { requireFileRight } from '../settings/file-lists.ts';
import type { ListsPart } from '../process/parts.ts';

type Names = Extract<MethodName, `lists.${string}` | `catalogue.${string}`>;
type ListHandlers = {
  readonly [Name in Names]: (
    input: MethodArguments<Name>,
    caller: Caller,
  ) => Promise<MethodOutput<Name>> | MethodOutput<Name>;
};

/** @param report  the lists as they are now */
export function listHandlers(
  store: ConfigStore,
  lists: ListsPart,
  report: () => MethodOutput<'lists.list'>,
): ListHandlers {
  return {
    'lists.list': report,
    'lists.add': async (source, caller) => {
      requireFileRight([source], [], caller);
      await store.edit('lists', (config) => planAddList(config, source));
      return report();
    },
    'lists.remove': async ({ name }) => {
      await store.edit('lists', (config) => planRemoveList(config, name));
      return report();
    },
    'lists.enable': async ({ name, enabled }) => {
      await store.edit('lists', (config) => planEnableList(config, name, enabled));
      return report();
    },
    'lists.change': async ({ name, ...use }) => {
      await store.edit('lists', (config) => planChangeList(config, name, use));
      return report();
    },
    'lists.refresh': async ({ name }) => {
      if (name !== undefined && !store.config.lists.some((list) => list.name === name)) {
        throw new AppError('LIST_UNKNOWN', `no list has the name "${name}"`);
      }
      await lists.refresh(name);
      return report();
    },
    'lists.accept': async ({ name }) => {
      await lists.accept(name);
      return report();
    },
    'lists.rollback': async ({ name }) => {
      await lists.rollBack(name);
      return report();
    },
    'catalogue.list': async () => {
      const { listCatalogue } = await import('../settings/list-catalogue.ts');
      const added = (url: string): string =>
        store.config.lists.find((list) => list.url === url)?.name ?? '';
      return { lists: listCatalogue().map((list) => ({ ...list, added: added(list.url) })) };
    },
    'catalogue.add': async ({ id }) => {
      const { catalogueSource } = await import('../settings/list-catalogue.ts');
      const source = catalogueSource(id);
      await store.edit('lists', (config) => planAddList(config, source));
      return report();
    },
  };
}
