/** Schedules by the wall clock of a time zone: midnight, and days on which clocks are changed. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { ScheduleSettings } from '../../../main/contract/filter-config.ts';
import type { Weekday } from '../../../main/contract/filter-words.ts';
import { isInForce, nextEdge } from '../../../main/control/policy/schedule.ts';

const EVERY_DAY: Weekday[] = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

function schedule(from: string, to: string, days = EVERY_DAY, timeZone = 'UTC'): ScheduleSettings {
  return { from, to, days, timeZone };
}

const at = (text: string): number => Date.parse(text);

describe('edges', () => {
  const day = schedule('09:00', '17:30');
  for (const [time, holds] of [
    ['08:59:59.999', false],
    ['09:00:00.000', true],
    ['17:29:59.999', true],
    ['17:30:00.000', false],
  ] as const) {
    test(`09:00 to 17:30 at ${time}: ${String(holds)}`, () => {
      assert.equal(isInForce(day, at(`2026-03-04T${time}Z`)), holds);
    });
  }

  test('a time that crosses midnight belongs to the day on which it begins', () => {
    // 2026-03-06 is a Friday.
    const night = schedule('22:00', '06:30', ['fri']);
    assert.equal(isInForce(night, at('2026-03-06T21:59:00Z')), false);
    assert.equal(isInForce(night, at('2026-03-06T22:00:00Z')), true);
    assert.equal(isInForce(night, at('2026-03-07T06:29:00Z')), true);
    assert.equal(isInForce(night, at('2026-03-07T06:30:00Z')), false);
    assert.equal(isInForce(night, at('2026-03-07T22:00:00Z')), false);
    assert.equal(isInForce(night, at('2026-03-06T03:00:00Z')), false);
  });

  test('00:00 twice is the whole day', () => {
    const sunday = schedule('00:00', '00:00', ['sun']);
    assert.equal(isInForce(sunday, at('2026-03-08T00:00:00Z')), true);
    assert.equal(isInForce(sunday, at('2026-03-08T23:59:59Z')), true);
    assert.equal(isInForce(sunday, at('2026-03-09T00:00:00Z')), false);
  });

  test('the day is that of the time zone', () => {
    const monday = schedule('00:00', '00:00', ['mon'], 'Asia/Tokyo');
    assert.equal(isInForce(monday, at('2026-03-08T15:00:00Z')), true);
    assert.equal(isInForce(monday, at('2026-03-09T15:00:00Z')), false);
  });
});

describe('changes of clocks', () => {
  const berlin = (from: string, to: string) => schedule(from, to, EVERY_DAY, 'Europe/Berlin');

  test('in spring a time that is left out begins at the change', () => {
    // At 01:00 UTC the clock goes from 02:00 to 03:00.
    const early = berlin('02:30', '05:00');
    assert.equal(isInForce(early, at('2026-03-29T00:59:00Z')), false);
    assert.equal(isInForce(early, at('2026-03-29T01:00:00Z')), true);
    assert.equal(isInForce(early, at('2026-03-29T02:59:00Z')), true);
    assert.equal(isInForce(early, at('2026-03-29T03:00:00Z')), false);
    assert.equal(nextEdge(early, at('2026-03-29T00:10:00Z')), at('2026-03-29T01:00:00Z'));
  });

  test('in autumn a time that is repeated holds twice', () => {
    // At 01:00 UTC the clock goes from 03:00 back to 02:00.
    const twice = berlin('02:15', '02:45');
    const holds = ['00:15', '00:45', '01:14', '01:15', '01:45'].map((time) =>
      isInForce(twice, at(`2026-10-25T${time}:00Z`)),
    );
    assert.deepEqual(holds, [true, false, false, true, false]);
    assert.equal(nextEdge(twice, at('2026-10-25T00:45:00Z')), at('2026-10-25T01:00:00Z'));
  });
});

test('between one edge and the next nothing changes, over a year in several zones', () => {
  const cases = [
    schedule('22:00', '06:30', ['fri', 'sat'], 'Europe/Berlin'),
    schedule('02:30', '02:45', ['sun'], 'America/New_York'),
    schedule('23:45', '00:15', EVERY_DAY, 'Asia/Kathmandu'),
    schedule('01:30', '04:00', ['sun', 'mon'], 'Australia/Lord_Howe'),
    schedule('00:00', '00:00', ['wed'], 'Pacific/Apia'),
  ];
  for (const one of cases) {
    let edge = at('2026-01-01T00:00:00Z');
    let seen = 0;
    while (edge < at('2026-12-31T00:00:00Z')) {
      const next = nextEdge(one, edge);
      assert.ok(next > edge, one.timeZone);
      const state = isInForce(one, edge);
      for (const moment of [edge + 1, (edge + next) / 2, next - 1]) {
        assert.equal(isInForce(one, moment), state, new Date(moment).toISOString());
      }
      edge = next;
      seen++;
    }
    assert.ok(seen >= 364, String(seen));
  }
});

test('a schedule is over whatever minute it is asked in', () => {
  const one = schedule('10:00', '11:00');
  assert.equal(nextEdge(one, at('2026-03-04T09:59:30Z')), at('2026-03-04T10:00:00Z'));
  assert.equal(nextEdge(one, at('2026-03-04T10:00:00Z')), at('2026-03-04T11:00:00Z'));
  assert.equal(nextEdge(one, at('2026-03-04T11:00:00Z')), at('2026-03-05T00:00:00Z'));
});
