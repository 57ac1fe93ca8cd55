import assert from 'node:assert/strict';
import { test } from 'node:test';
import { diagnosePolicies, shiftsBySchedule } from '../../engine/doctor/examine.ts';
import { diagnose, type Snapshot } from '../../rules/doctor.ts';

const at = '2026-01-01T00:00:00.000Z';
const until = '2026-01-08T00:00:00.000Z';

test('the doctor checks each policy once, and yields between policies', async () => {
  let asked = 0;
  const world: Snapshot = {
    at,
    until,
    person: () => undefined,
    schedule: () => {
      asked++;
      return { name: 'night', shifts: [], participants: [] };
    },
  };
  const steps = [{ target: { kind: 'schedule' as const, id: 's', label: '' }, waitSeconds: 60 }];
  const attached = Array.from({ length: 50 }, (_, i) => ({ policy_id: `policy ${i % 5}`, steps }));
  const { made: found, turns } = await countTurns(() => diagnosePolicies(attached, world));
  assert.equal(found.size, 5);
  assert.equal(asked, 5);
  assert.ok(turns >= 4, `${turns} turns`);
});

test('the doctor yields between schedules', async () => {
  const participants = [{ userId: 'u', label: 'U' }];
  const handoff = { interval: 'daily' as const, time: '09:00' };
  const rotation = { timezone: 'Europe/Paris', participants, handoff, anchorDate: '2026-01-01', anchorIndex: 0 };
  const rotas = new Map(Array.from({ length: 20 }, (_, i) => [`sch_${i}`, { name: 'night', rotation, overrides: [] }]));
  const { made: found, turns } = await countTurns(() => shiftsBySchedule(rotas, at, until));
  assert.equal(found.size, 20);
  assert.equal(found.get('sch_7')!.shifts.length, 8);
  assert.ok(turns >= 19, `${turns} turns`);
});

/** How many turns the event loop gave to others meanwhile. */
async function countTurns<T>(act: () => Promise<T>): Promise<{ made: T; turns: number }> {
  let turns = 0;
  const count = () => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const made = await act();
  clearImmediate(timer);
  return { made, turns };
}

test('no more problem sentences are built than are shown', () => {
  let read = 0;
  const ruleDiagnoses = [
    {
      channel: 'sms' as const,
      delaySeconds: 0,
      problem: {
        code: 'no-provider' as const,
        get sentence() {
          return `problem ${++read}`;
        },
      },
    },
  ];
  const shift = { userId: 'u', label: 'U', startsAt: at, endsAt: until };
  const world = {
    at,
    until,
    person: () => ({ label: 'U', ruleDiagnoses }),
    schedule: () => ({ name: 'night', shifts: Array.from({ length: 400 }, () => shift), participants: [] }),
  } as unknown as Snapshot;
  const { problems } = diagnose({ steps: [{ target: { kind: 'schedule', id: 's', label: '' }, waitSeconds: 60 }] }, world);
  assert.equal(problems.length, 20);
  assert.equal(read, 20);
});
