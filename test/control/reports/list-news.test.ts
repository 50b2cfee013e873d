/** What is told of lists: the beginning and the end of a failure, once each. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListStatus } from '../../../main/contract/methods/methods.ts';
import { ListNews } from '../../../main/control/reports/list-news.ts';
import { NO_UPDATES } from '../../support/list-news.ts';

function list(state: ListStatus['state'], error = '', updatedAtMs: number | null = null) {
  const rest = { url: '', format: '', enabled: true, names: 0, ignored: [], checkedAtMs: null };
  return [{ ...NO_UPDATES, name: 'Ads', state, error, updatedAtMs, ...rest }];
}

test('a list that fails, goes on failing for the same and another reason, and recovers', () => {
  const news = new ListNews();
  const told = [
    list('updating'),
    list('failed', 'status 404'),
    list('updating', 'status 404'),
    list('failed', 'status 404'),
    list('failed', 'status 500', 1),
    list('updating', 'status 500', 1),
    list('ok', '', 2),
    list('ok', '', 3),
    [],
  ].map((lists) => news.read(lists));
  assert.deepEqual(told, [
    [],
    ['list "Ads" failed: status 404'],
    [],
    [],
    ['list "Ads" failed: status 500; its last good copy stays in use'],
    [],
    ['list "Ads" is up to date again'],
    [],
    [],
  ]);
});
