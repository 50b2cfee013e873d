/** The catalogue of well-known lists: that every entry can be used, and what each category has. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIST_CATEGORIES } from '../../../main/contract/methods/list.ts';
import { catalogueSource, listCatalogue } from '../../../main/control/settings/list-catalogue.ts';
import { sourceConflict } from '../../../main/control/settings/settings-conflicts.ts';

test('every list has an id, a name and a URL of its own, and can be added', () => {
  const lists = listCatalogue();
  for (const key of ['id', 'name', 'url'] as const) {
    assert.equal(new Set(lists.map((list) => list[key])).size, lists.length, key);
  }
  for (const { id, name, url } of lists) {
    const source = catalogueSource(id);
    assert.equal(sourceConflict(source), undefined, id);
    assert.deepEqual([source.name, source.url, source.enabled], [name, url, true]);
  }
  assert.throws(() => catalogueSource('none-such'), { code: 'LIST_UNKNOWN' });
});

test('every category has a list', () => {
  const categories = new Set(listCatalogue().map(({ category }) => category));
  assert.deepEqual(
    [...LIST_CATEGORIES].filter((one) => !categories.has(one)),
    [],
  );
});

test('an alias of another program means one list', () => {
  const aliases = listCatalogue().flatMap(({ alias }) => alias);
  assert.equal(new Set(aliases).size, aliases.length);
});
