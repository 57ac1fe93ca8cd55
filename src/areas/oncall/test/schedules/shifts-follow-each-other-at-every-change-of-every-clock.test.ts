import assert from 'node:assert/strict';
import { test } from 'node:test';
import { dayMs, judge, overridesNear, surviveAnyChange } from './change-properties.ts';
import { allZones, type ClockChange, changesOf, distinct, handoffsNear } from './clock-changes.ts';

/** A week that hands over on the very day. */
const dow = ({ after }: ClockChange) => after.dayOfWeek;
const named = [
  'America/St_Johns',
  'Australia/Lord_Howe',
  'Pacific/Apia',
  'Africa/Cairo',
  'Asia/Beirut',
  'America/Havana',
  'Atlantic/Azores',
  'Antarctica/Troll',
  'Antarctica/Casey',
  'Pacific/Kwajalein',
];

test('every way in which a clock has ever changed, against every handoff that it may upset', () => {
  const everywhere = allZones.map(changesOf);
  const hard = [...distinct(everywhere.flat()), ...named.flatMap((zone) => distinct(changesOf(zone)))];
  assert.ok(hard.length > 60, `only ${hard.length} ways were found`);
  for (const change of hard)
    for (const time of handoffsNear(change))
      for (const [i, overrides] of overridesNear(change).entries()) {
        judge(change, { interval: 'daily', time }, overrides, change.at - 3 * dayMs, 1.5);
        if (i < 2) judge(change, { interval: 'weekly', time, dow: dow(change) }, overrides, change.at + 3 * dayMs, 4);
      }
});

test('no zone is different: each with its own ways of changing', () => {
  for (const zone of allZones)
    for (const change of distinct(changesOf(zone))) {
      const overrides = overridesNear(change)[1]!;
      judge(change, { interval: 'daily', time: '00:00' }, overrides, change.at - 2 * dayMs, 1.5);
      judge(change, { interval: 'weekly', time: handoffsNear(change).at(-1)!, dow: dow(change) }, [], change.at, 4);
    }
});

// The campaign of clocks tries thousands.
test('any handoff, any overrides, around any change of any clock', () => surviveAnyChange(150));
