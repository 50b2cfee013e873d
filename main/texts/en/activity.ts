/** The page Activity: the switch, the figures, the chart and the live queries. */
import { wordingOf } from '../language/wording.ts';

const { number, counted } = wordingOf('en');

export const activity = {
  protection: 'Protection',
  isOn: 'Protection is on',
  isOff: 'Protection is off',
  namesBlocked: (names: number) =>
    `${counted(names, 'blocked domain', 'blocked domains')}, including subdomains.`,
  pausedUntil: (time: string) => `Paused until ${time}`,
  left: (time: string) => `${time} left`,
  unfiltered: 'Every query is forwarded unfiltered.',
  stillResolves:
    'Names still resolve. Queries are forwarded unfiltered until you turn it on again.',
  noAnswer: 'Sluice is not responding',
  lastState: {
    on: 'Protection was on.',
    paused: 'Protection was paused.',
    off: 'Protection was off.',
  },
  loading: 'Loading…',
  resume: 'Resume now',
  pauseFor: 'Pause for',
  pauseAgainFor: 'Pause again for',
  minutes: (minutes: number) => `${number(minutes)} min`,
  hours: (hours: number) => counted(hours, 'hour', 'hours'),

  sinceStart: 'Since Sluice started',
  queries: 'Queries',
  since: (time: string) => `since ${time}`,
  blocked: 'Blocked',
  shareOfQueries: (share: string) => `${share} of queries`,
  fromCache: 'From cache',
  droppedLines: 'Dropped log lines',
  logged: (lines: number) => `${number(lines)} logged`,
  answeredLocally: 'Answered locally',
  answeredUpstream: 'Answered upstream',
  noAnswerYet: 'no answers yet',
  medianHint: 'Half of these answers were faster',
  p99Hint: '99 of 100 of these answers were faster',

  linesDropped: (lines: number) => `${counted(lines, 'log line was', 'log lines were')} dropped`,
  linesDroppedMeans:
    'Queries came in faster than the log could be written. All of them were answered and counted; only these log lines are missing.',
  dismiss: 'Dismiss',

  live: 'Live queries',
  nameOrClient: 'Name or client',
  filterHint: 'Show only queries whose name or client contains this',
  blockedOnly: 'Blocked only',
  hold: 'Pause',
  follow: 'Resume',
  heldWaiting: (rows: number) => `Paused. ${counted(rows, 'new query', 'new queries')}.`,
  heldTouched: (rows: number) => `Paused while you use the table. ${number(rows)} new.`,
  newest: 'Newest queries first.',
  rowsSkipped: (rows: number) => `${counted(rows, 'row', 'rows')} skipped (too many to display).`,
  rowsSkippedLogged: 'All of them are counted and in the log.',
  rowsSkippedCounted: 'All of them are counted.',
  waiting: 'Waiting for queries…',
  noMatch: 'No recent query matches',
  noMatchHint: { before: 'Older ones may: search the', link: 'log', after: '.' },
  noQueries: 'No queries yet',
  pointHint: (address: string) => `Point a device or this computer at ${address}.`,
  howTo: 'How to do that',

  overTime: 'Over time',
  timeRange: 'Time range',
  ranges: { hour: '1 hour', day: '24 hours', week: '7 days' },
  inRange: {
    hour: (queries: number, blocked: number, share: string) =>
      `${counted(queries, 'query', 'queries')} in the last hour, ${number(blocked)} blocked (${share})`,
    day: (queries: number, blocked: number, share: string) =>
      `${counted(queries, 'query', 'queries')} in the last 24 hours, ${number(blocked)} blocked (${share})`,
    week: (queries: number, blocked: number, share: string) =>
      `${counted(queries, 'query', 'queries')} in the last 7 days, ${number(blocked)} blocked (${share})`,
  },
  atPoint: (time: string, queries: number, blocked: number) =>
    `${time}: ${counted(queries, 'query', 'queries')}, ${number(blocked)} blocked`,

  mostBlocked: 'Most blocked',
  nothingBlocked: 'Nothing was blocked in this period.',
};
