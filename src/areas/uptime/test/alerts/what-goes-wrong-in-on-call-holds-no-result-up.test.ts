import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { row, rows, run } from '../../../../kernel/db/index.ts';
import { tryLockDeliveries } from '../../../oncall/index.ts';
import { findLostNotifications } from '../../tasks.ts';
import { agent, eventually, made, monitor, stateOf, watched } from '../support.ts';

const once = { downCondition: { confirmations: 1, quorum: 1 } };

/** From now on on-call throws whenever it would write an alert; until `mend`. */
async function breakOncall({ app }: Quarterdeck) {
  await app.db.write(async (tx) => {
    await run(tx)`create function oncall.broken() returns trigger language plpgsql as $$ begin raise 'on-call is broken'; end $$`;
    await run(tx)`create trigger broken before insert or update on oncall.alert for each row execute function oncall.broken()`;
  });
  return { mend: () => app.db.write((tx) => run(tx)`drop trigger broken on oncall.alert`) };
}

const Jobs = Type.Object({ key: Type.String(), attempts: Type.Integer(), dead: Type.Boolean() });
const jobs = ({ app }: Quarterdeck) =>
  app.db.read(
    (tx) => rows(tx, Jobs)`select key, attempts, dead_at is not null as dead from kernel.job where kind = 'uptime.tell-oncall' order by id`,
  );

// biome-ignore lint/suspicious/noExplicitAny: an incident's shape is on-call's contract
const incidents = async ({ owner }: Quarterdeck, status: string): Promise<any[]> =>
  (await made(owner.get(`/oncall/incidents?status=${status}`))).incidents;

const Untold = Type.Object({ n: Type.Integer() });
const untold = async ({ app }: Quarterdeck) =>
  (await app.db.read((tx) => row(tx, Untold)`select count(*)::int as n from uptime.telling`))!.n;

/** Until nothing is left to tell. Jobs that failed pause before they come again: that is not lived through. */
const tellAll = (qd: Quarterdeck) =>
  eventually(async () => {
    await qd.clock.advance('1s');
    return (await untold(qd)) === 0;
  });

test('while on-call throws results are taken; once it does not, the incident comes, and the jobs before are done with it', async (t) => {
  const qd = await quarterdeck(t);
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: its } = await watched(qd, ['tokyo'], { serviceId, name: 'checkout', ...once });
  const tokyo = agents[0]!;
  await tokyo.pass(its);
  const { mend } = await breakOncall(qd);
  await tokyo.fail(its);
  assert.equal(await stateOf(qd.owner, its), 'down');
  await eventually(async () => {
    await qd.clock.advance('1s');
    return (await jobs(qd)).some((job) => job.attempts >= 2);
  });
  await tokyo.fail(its);
  assert.deepEqual(await incidents(qd, 'open'), []);
  assert.equal((await jobs(qd)).filter((job) => job.dead).length, 0);

  await mend();
  await tellAll(qd);
  const [incident] = await incidents(qd, 'open');
  assert.equal(incident.title, 'checkout is down');
  await eventually(async () => (await jobs(qd)).length === 0);
});

test('what went down and up again before on-call could hear of it is an incident that was opened and resolved', async (t) => {
  const qd = await quarterdeck(t);
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: its } = await watched(qd, ['tokyo'], { serviceId, ...once });
  const tokyo = agents[0]!;
  await tokyo.pass(its);
  const { mend } = await breakOncall(qd);
  await tokyo.fail(its);
  await tokyo.pass(its);
  await tokyo.fail(its);
  await tokyo.pass(its);
  assert.equal((await jobs(qd)).length, 4, 'each change has a job that waits for nobody');
  await mend();
  await tellAll(qd);
  assert.deepEqual(await incidents(qd, 'open'), []);
  const resolved = await incidents(qd, 'resolved');
  assert.equal(resolved.length, 2, 'one for each outage');
  for (const { id } of resolved) {
    const { timeline } = await made(qd.owner.get(`/oncall/incidents/${id}`));
    const kinds = timeline.map((entry: { kind: string }) => entry.kind);
    assert.ok(kinds.includes('alert_firing') || kinds.includes('opened'), kinds.join());
    assert.ok(kinds.indexOf('alert_resolved') > 0, kinds.join());
  }
});

test('a monitor that is deleted, and one that is moved, before on-call could hear of them leave nothing open behind', async (t) => {
  const qd = await quarterdeck(t);
  const [shop, desk] = await Promise.all(['shop', 'desk'].map((name) => made(qd.owner.post('/uptime/services', { name }))));
  const { agents, monitor: gone } = await watched(qd, ['tokyo'], { serviceId: shop.id, name: 'gone', ...once });
  const moved = await monitor(qd.owner, ['tokyo'], { serviceId: shop.id, name: 'moved', ...once });
  const tokyo = agents[0]!;
  const { mend } = await breakOncall(qd);
  await tokyo.report({ monitor: gone.id, outcome: 'error' }, { monitor: moved.id, outcome: 'error' });
  await made(qd.owner.delete(`/uptime/monitors/${gone.id}`));
  await made(qd.owner.patch(`/uptime/monitors/${moved.id}`, { serviceId: desk.id }));
  await mend();
  await tellAll(qd);
  const open = await incidents(qd, 'open');
  assert.deepEqual(
    open.map(({ title, serviceId }) => [title, serviceId]),
    [['moved is down', desk.id]],
  );
});

test('a deleted service is not notified, and no notification is left', async (t) => {
  const qd = await quarterdeck(t);
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: its } = await watched(qd, ['tokyo'], { serviceId, ...once });
  const { mend } = await breakOncall(qd);
  await agents[0]!.fail(its);
  await made(qd.owner.delete(`/uptime/monitors/${its.id}`));
  await made(qd.owner.delete(`/uptime/services/${serviceId}`));
  await mend();
  await tellAll(qd);
  await eventually(async () => (await jobs(qd)).length === 0);
  assert.deepEqual([await incidents(qd, 'open'), await incidents(qd, 'resolved')], [[], []]);
});

test('sixty that go down at once are a handful of statements, none of them on-call’s', { timeout: 120_000 }, async (t) => {
  // No worker: what the batch does not do itself is not done.
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_UPTIME_MONITOR_QUOTA: '1000' } });
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const tokyo = await agent(qd, 'tokyo');
  const monitors: { id: string }[] = [];
  const many = 60; // three times as many as the statements that it may take
  for (let i = 0; i < many; i++) {
    if (i % 20 === 0) await tokyo.session(); // a vantage that was silent for a while takes no new monitor
    monitors.push(await monitor(qd.owner, ['tokyo'], { serviceId, ...once }));
  }
  const all = (outcome: 'pass' | 'error') => tokyo.report(...monitors.map(({ id }) => ({ monitor: id, outcome })));
  await all('pass');

  const statements: string[] = [];
  const { write } = qd.app.db;
  qd.app.db.write = (work) =>
    write((tx) =>
      work({
        ...tx,
        query: (piece) => {
          statements.push(piece.strings.join('?'));
          return tx.query(piece);
        },
      }),
    );
  t.after(() => (qd.app.db.write = write));
  await qd.clock.advance('60s');
  statements.length = 0;
  const began = performance.now();
  await all('error');
  t.diagnostic(`${many} outages: ${statements.length} statements, ${(performance.now() - began).toFixed(0)} ms`);
  assert.ok(statements.length <= 20, `${statements.length} statements`);
  assert.deepEqual(
    statements.filter((text) => text.includes('oncall.')),
    [],
  );
  assert.equal((await jobs(qd)).length, 1, 'they are of one service');
  assert.equal(await untold(qd), many);
  assert.deepEqual(await incidents(qd, 'open'), []);
});

test('a telling whose job is gone is found and told', async (t) => {
  const qd = await quarterdeck(t);
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: its } = await watched(qd, ['tokyo'], { serviceId, name: 'checkout', ...once });
  await agents[0]!.pass(its);
  const { mend } = await breakOncall(qd);
  await agents[0]!.fail(its);
  await qd.app.db.write((tx) => run(tx)`delete from kernel.job where kind = 'uptime.tell-oncall'`);
  await mend();
  await qd.perform(findLostNotifications);
  assert.deepEqual(await jobs(qd), [], 'a moment is not late');
  await qd.clock.advance('61s');
  await qd.perform(findLostNotifications);
  await eventually(async () => (await incidents(qd, 'open')).length === 1);
  await eventually(async () => (await jobs(qd)).length === 0);
});

test('while somebody else delivers to a service, telling it keeps no connection from pages, and is done in its turn', async (t) => {
  const qd = await quarterdeck(t);
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: its } = await watched(qd, ['tokyo'], { serviceId, name: 'checkout', ...once });
  await agents[0]!.pass(its);
  const turn = Promise.withResolvers<void>();
  const taken = Promise.withResolvers<void>();
  const delivery = qd.app.db.write(async (tx) => {
    await tryLockDeliveries(tx, qd.owner.orgId, serviceId);
    taken.resolve();
    await turn.promise;
  });
  await taken.promise;
  await agents[0]!.fail(its);
  await eventually(async () => (await jobs(qd)).some((job) => job.attempts >= 2));
  turn.resolve();
  await delivery;
  await eventually(async () => (await incidents(qd, 'open')).length === 1);
});

test('a service whose last monitor was deleted while it was down can be deleted at once', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } }); // nobody works off jobs meanwhile
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor: its } = await watched(qd, ['tokyo'], { serviceId, ...once });
  await agents[0]!.pass(its);
  await agents[0]!.fail(its);
  await made(qd.owner.delete(`/uptime/monitors/${its.id}`));
  assert.equal((await qd.owner.delete(`/uptime/services/${serviceId}`)).status, 204);
});
