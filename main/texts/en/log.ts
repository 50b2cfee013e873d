/** The page Log: the search and its pages. */
import { wordingOf } from '../language/wording.ts';

const { number } = wordingOf('en');

export const log = {
  lead: 'Every stored query, newest first.',
  isOff: 'The log is off',
  isOffHint: {
    before: 'New queries are counted but not stored. To change that, set',
    after: 'in the settings file.',
  },

  search: 'Search the log',
  partOfName: 'Part of a name',
  client: 'Client address',
  result: 'Result',
  anyResult: 'Any',
  time: 'Time',
  periods: {
    any: 'Any time',
    quarter: 'Last 15 minutes',
    hour: 'Last hour',
    day: 'Last 24 hours',
    week: 'Last 7 days',
    between: 'Between…',
  },
  from: 'From',
  to: 'To',
  start: 'Search',

  searching: 'Searching…',
  page: (page: number) => `Page ${number(page)}`,
  newer: 'Newer',
  older: 'Older',
  queries: 'Queries',
  incomplete: 'The search stopped early',
  incompleteMeans:
    'A search is limited to two seconds. There may be more matches: choose a shorter time range, type more of the name, or go on to older rows.',
  nothingSoFar: 'Nothing found so far',
  noMatch: 'No matching queries',
  showAll: 'Show all',
  nothing: 'No stored queries yet',
  nothingHint: 'Queries appear here about half a second after they are answered.',
};
