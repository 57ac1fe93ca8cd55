/** Rotations in every zone, around any change of its clock, QUARTERDECK_FAULT_ROUNDS of each kind (default 5,000). */
import { test } from 'node:test';
import { surviveAnyChange } from '../../src/areas/oncall/test/schedules/change-properties.ts';
import { agreeWithTheList, followEachOther, keepTheShift } from '../../src/areas/oncall/test/schedules/rotation-properties.ts';

const rounds = Number(process.env.QUARTERDECK_FAULT_ROUNDS ?? 5_000);

test('shifts are contiguous, in order and none is lost, over a year of daylight saving in every zone', () => followEachOther(rounds));

test('the person on call at an instant is the one that the list of shifts names', () => agreeWithTheList(rounds));

test('a new handoff or zone keeps the current shift', () => keepTheShift(rounds));

test('any handoff, any overrides, around any change of any clock', () => surviveAnyChange(rounds));
