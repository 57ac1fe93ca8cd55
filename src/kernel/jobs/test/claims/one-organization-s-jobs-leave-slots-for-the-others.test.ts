import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { enqueue, enqueueMany, job } from '../../index.ts';
import { eventually, workbench } from '../support.ts';

const many = (count: number, org: string | undefined) =>
  Array.from({ length: count }, (_, i) => ({ key: `${org}-${i}`, ...(org ? { org } : {}) }));

test('jobs of one organization that all hang leave slots to the others, whose jobs begin at once', async (t) => {
  const { app, worker, defer } = await workbench(t);
  const stuck = Promise.withResolvers<void>();
  const done: string[] = [];
  const hang = job('hang', { lane: 'page' }, () => stuck.promise);
  const work = job('work', { lane: 'page' }, async ({ key }) => void done.push(key));
  const crew = worker([hang, work], { lanes: { page: 8 } });
  defer(() => stuck.resolve());
  await app.db.write((tx) => enqueueMany(tx, hang, many(300, 'org_a')));
  await eventually('its share is taken', () => crew.snapshot().lanes.page.runningOf.get('org_a') === 6);
  await app.db.write((tx) => enqueueMany(tx, work, many(20, 'org_b')));
  await app.db.write((tx) => enqueueMany(tx, work, many(20, undefined)));
  await eventually('all of the others ran', () => done.length === 40);
  assert.equal(crew.snapshot().lanes.page.runningOf.get('org_a'), 6, 'not more than its share, though the rest was free');
});

test('behind ten thousand jobs of one organization, the others take their turns', async (t) => {
  const { app, worker } = await workbench(t);
  const order: string[] = [];
  const work = job('work', {}, async ({ org }) => void order.push(org!));
  // Both exist before a worker starts, those of A long before.
  await app.db.write((tx) => enqueueMany(tx, work, many(10_000, 'org_a')));
  await app.db.write((tx) => enqueueMany(tx, work, [...many(30, 'org_b'), ...many(30, 'org_c')]));
  worker([work], { lanes: { default: 8 } });
  await eventually('B and C ran', () => order.filter((org) => org !== 'org_a').length === 60);
  const last = Math.max(order.lastIndexOf('org_b'), order.lastIndexOf('org_c'));
  assert.ok(last < 1_000, `the last of sixty was number ${last}; oldest first it would be behind the ten thousand`);
});

test('of more organizations than one claim visits, each has its turn', async (t) => {
  const { app, worker, count } = await workbench(t);
  const work = job('work', {}, async () => {});
  const later = job('later', {}, async () => {});
  // The first hundred and fifty by name have only jobs that are not due yet, so a walk over them finds nothing to do.
  const notYet = Array.from({ length: 150 }, (_, i) => ({ key: `${i}`, org: `org_${String(i).padStart(4, '0')}`, delaySeconds: 3_600 }));
  await app.db.write((tx) => enqueueMany(tx, later, notYet));
  await app.db.write((tx) => enqueueMany(tx, work, [...many(200, 'org_y'), ...many(200, 'org_z')]));
  worker([work, later], { lanes: { default: 4 } });
  await eventually('everything that is due ran', async () => (await count()) === 150);
  // All organizations were visited, and nothing is due: the lane does not poll in a loop.
  const { mock } = t.mock.method(pg.Client.prototype, 'query');
  await sleep(500);
  const asked = mock.callCount();
  mock.restore();
  assert.ok(asked < 100, `${asked} statements in half a second`);
});

test('an organization later in the alphabet, or with younger jobs, has as many turns as the others', async (t) => {
  const { app, worker } = await workbench(t);
  const order: string[] = [];
  const work = job('work', {}, async ({ org }) => void order.push(org!));
  await app.db.write((tx) => enqueueMany(tx, work, [...many(300, 'org_b'), ...many(300, 'org_c'), ...many(300, 'org_d')]));
  await app.db.write((tx) => enqueueMany(tx, work, [...many(20, 'org_a'), ...many(20, 'org_z')]));
  worker([work], { lanes: { default: 4 } });
  await eventually('all ran', () => order.length === 940);
  for (const org of ['org_a', 'org_z'])
    assert.ok(order.lastIndexOf(org) < 300, `${org} had its last turn as number ${order.lastIndexOf(org)}`);
});

test('while one has its whole share and a hundred have nothing due, the one after them is served', async (t) => {
  const { app, worker, defer } = await workbench(t);
  const stuck = Promise.withResolvers<void>();
  const done: string[] = [];
  const hang = job('hang', {}, () => stuck.promise);
  const work = job('work', {}, async ({ org }) => void done.push(org!));
  const crew = worker([hang, work], { lanes: { default: 8 } });
  defer(() => stuck.resolve());
  await app.db.write((tx) => enqueueMany(tx, hang, many(30, 'org_m')));
  await eventually('its share is taken', () => crew.snapshot().lanes.default.runningOf.get('org_m') === 6);
  const notYet = Array.from({ length: 101 }, (_, i) => ({ key: `${i}`, org: `org_a${i}`, delaySeconds: 3_600 }));
  await app.db.write((tx) => enqueueMany(tx, work, notYet));
  await app.db.write((tx) => enqueue(tx, work, { key: 'last', org: 'org_zz' }));
  await eventually('the last one ran', () => done.includes('org_zz'));
});

test('what has waited for long is taken one after the other, not a share of the slots each second', async (t) => {
  const { app, worker, advance, count } = await workbench(t);
  const work = job('work', {}, () => sleep(5));
  await app.db.write((tx) => enqueueMany(tx, work, many(150, 'org_a')));
  await advance(60);
  worker([work], { lanes: { default: 4 } }); // three of them for one organization
  await eventually('all ran', async () => (await count()) === 0);
});
