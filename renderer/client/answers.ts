/** Names for parts of the service's answers that several files of the window speak of. */
import type { MethodInput, MethodOutput } from '../../main/contract/methods/methods.ts';

export type ListInput = MethodInput<'lists.add'>;
/** A list as the settings have it. */
export type ListSource = MethodOutput<'settings.get'>['config']['lists'][number];
export type CatalogueEntry = MethodOutput<'catalogue.list'>['lists'][number];
export type Policy = MethodOutput<'policies.list'>['policies'][number];
export type NamedClient = MethodOutput<'clients.list'>['clients'][number];
export type ClientGroup = MethodOutput<'clients.list'>['groups'][number];
export type SeenClient = MethodOutput<'statistics'>['topClients'][number];
export type Service = MethodOutput<'services.list'>['catalogue'][number];
export type SafeSearch = MethodOutput<'services.list'>['safeSearch'];
export type LocalRecord = MethodOutput<'records.list'>['records'][number];
