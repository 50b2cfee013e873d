/**
 * The catalogue of well-known lists, resources/catalogue.yaml. Read once, when a door first asks;
 * used by the method catalogue.list, by lists.add with an id, and by imports.
 */
import { readFileSync } from 'node:fs';
import { parse } from 'yaml';
import { z } from 'zod';
import { configSchema, type ListSource } from '../../contract/config.ts';
import { AppError } from '../../contract/errors.ts';
import { catalogueListSchema, type CatalogueList } from '../../contract/methods/list.ts';
import { LIMITS } from '../../contract/limits.ts';
import { resourcePath } from '../process/resources.ts';

const fileSchema = z.strictObject({
  lists: z.array(catalogueListSchema).max(LIMITS.catalogueListsMax),
});

const listSchema = configSchema.shape.lists.unwrap().element;

let known: readonly CatalogueList[] | undefined;

/** All lists, in the order of the file. @throws when the program was installed incompletely */
export function listCatalogue(): readonly CatalogueList[] {
  known ??= fileSchema.parse(parse(readFileSync(resourcePath('catalogue.yaml'), 'utf8'))).lists;
  return known;
}

/** A list of the catalogue as the settings have it. @throws AppError LIST_UNKNOWN */
export function catalogueSource(id: string): ListSource {
  const found = listCatalogue().find((list) => list.id === id);
  if (!found) throw new AppError('LIST_UNKNOWN', `the catalogue has no list "${id}"`);
  const { name, url, format } = found;
  return listSchema.parse({ name, url, format });
}
