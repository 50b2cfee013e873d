/** What `sluice lists` prints about lists. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ListStatus } from '../../../main/contract/methods/methods.ts';
import { listText } from '../../../main/api/cli/lists.ts';
import { listsText } from '../../../main/api/cli/text.ts';

const LIST: ListStatus = {
  name: 'Ads',
  url: 'https://lists.example/ads',
  format: 'adblock',
  enabled: true,
  names: 1_234,
  ...{ lines: 2_811, rules: 1_300, comments: 10 },
  ignored: [
    { reason: 'too wide', lines: 1_500, examples: ['||com^', '||net^'] },
    { reason: 'not a host name', lines: 1, examples: ['?'] },
  ],
  updatedAtMs: 0,
  checkedAtMs: 0,
  state: 'failed',
  error: 'update refused: it fell from 1234 to 4 names',
  change: null,
  quarantine: {
    kind: 'collapse',
    reason: 'it fell from 1234 to 4 names',
    fetchedAtMs: 0,
    bytes: 40,
    acceptable: true,
  },
  generations: [{ inUse: true, fetchedAtMs: 0, bytes: 1_048_576, names: 1_300, sha256: '00' }],
  rolledBack: false,
};

test('the table tells format and ignored lines, and how to take a copy that waits', () => {
  const text = listsText({ lists: [LIST], names: 1_234 });
  assert.match(text, /^name +state +format +names +ignored +updated\n/);
  assert.match(text, /\nAds +quarantine +adblock +1,234 +1,501 /);
  assert.match(
    text,
    /\na new version of Ads needs review; to accept it: sluice lists accept "Ads"$/,
  );
  assert.doesNotMatch(
    listsText({ lists: [{ ...LIST, quarantine: null }], names: 1 }),
    /needs review/,
  );
});

test('one list: its copies, and ignored lines by reason with examples', () => {
  const text = listText({ lists: [LIST], names: 1_234 }, 'Ads');
  assert.match(text, /\nin use +1970-01-01 .*, 1,300 rules, 1\.0 MiB\n/);
  assert.match(text, /\nlines +2,811: 1,300 with rules, 10 comments or blank\nignored /);
  assert.match(text, /\nignored +1,501 lines\n +1,500: too wide\n +\|\|com\^\n +\|\|net\^\n/);
  assert.match(text, /\n +1: not a host name\n +\?\na new version of Ads needs review;/);
  assert.throws(() => listText({ lists: [LIST], names: 1 }, 'Other'), { code: 'LIST_UNKNOWN' });
});
