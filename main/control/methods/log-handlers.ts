/** Methods that read the query log: with the names that clients have in the settings. */
import type { QueryLog } from '../../log/query-log.ts';
import type { MethodArguments, MethodOutput } from '../../contract/methods/methods.ts';
import type { NamedClients } from '../reports/named-clients.ts';

/** @param clients  those of the settings in use */
export function logHandlers(
  log: Pick<QueryLog, 'search' | 'statistics'>,
  clients: () => NamedClients,
) {
  return {
    'queries.search': async (
      input: MethodArguments<'queries.search'>,
    ): Promise<MethodOutput<'queries.search'>> => {
      const clientPlaces = clients().placesFor(input.client);
      const found = await log.search({ ...input, ...(clientPlaces && { clientPlaces }) });
      return { ...found, rows: found.rows.map((row) => clients().name(row)) };
    },
    statistics: async (
      input: MethodArguments<'statistics'>,
    ): Promise<MethodOutput<'statistics'>> => {
      const found = await log.statistics(input);
      return { ...found, topClients: found.topClients.map((one) => clients().name(one)) };
    },
  };
}
