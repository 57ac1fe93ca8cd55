import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { row, type Tx } from '../../../../kernel/db/index.ts';
import { cancel } from '../../../../kernel/jobs/index.ts';
import { statement } from '../../../../kernel/sql.ts';
import { now } from '../../../../kernel/time.ts';
import { endFlapping, scheduleFlapEnd } from '../../engine/end-flapping.ts';
import { maintenanceChanged, maintenanceTurn } from '../../engine/maintenance.ts';
import { deliverPending } from '../../engine/notify-oncall.ts';
import { insertMaintenance } from '../../store/maintenance.ts';
import { lockStates, monitorsOf, writeStates } from '../../store/states.ts';
import { eventually, made, watched } from '../support.ts';

/** A server whose turns come only when the test takes them, and a monitor of a service on it that is up. */
async function shop(t: Parameters<typeof quarterdeck>[0]) {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { agents, monitor } = await watched(qd, ['tokyo'], { serviceId });
  await agents[0]!.pass(monitor);
  const at = Date.parse(await qd.app.db.read(now));
  return { qd, serviceId, monitor, org: qd.owner.orgId, later: (seconds: number) => new Date(at + seconds * 1_000).toISOString() };
}

/** Begins, does its work, and commits when told. */
async function held({ app }: Quarterdeck, work: (tx: Tx) => Promise<unknown>) {
  const [worked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const committed = app.db.write(async (tx) => {
    await work(tx);
    worked.resolve();
    await released.promise;
  });
  await Promise.race([worked.promise, committed]);
  return {
    commit: () => {
      released.resolve();
      return committed;
    },
  };
}

/** It has ended, or waits for what another transaction holds. */
async function settled({ app }: Quarterdeck, work: Promise<unknown>) {
  let ended = false;
  void work.finally(() => (ended = true)).catch(() => {});
  const waits = () =>
    app.db.read((tx) => row(tx, Type.Object({ waits: Type.Boolean() }))`select exists (select from pg_locks where not granted) as waits`);
  await eventually(async () => ended || (await waits())!.waits);
}

const dueAt = ({ app }: Quarterdeck, kind: string, key: string) =>
  app.db.read(
    async (tx) =>
      (await row(tx, Type.Object({ run_at: Type.String() }))`select run_at from kernel.job where kind = ${kind} and key = ${key}`)?.run_at,
  );

/** On-call hears what was decided of the monitor, as a worker would tell it. */
const openIncidents = async ({ app, owner }: Quarterdeck, monitor: { id: string }): Promise<number> => {
  await app.db.write((tx) => deliverPending(tx, owner.orgId, monitor.id));
  return (await made(owner.get('/oncall/incidents?status=open'))).incidents.length;
};

test('of two who plan work on a service at once, neither hides the beginning of the other', async (t) => {
  const { qd, serviceId, org, later } = await shop(t);
  const sooner = await held(qd, async (tx) => {
    await insertMaintenance(tx, org, { serviceId, title: 'sooner', startsAt: later(600), endsAt: later(900) });
    await maintenanceChanged(tx, org, serviceId);
  });
  const other = made(qd.owner.post('/uptime/maintenance', { serviceId, title: 'later', startsAt: later(3_600), endsAt: later(7_200) }));
  await settled(qd, other);
  await sooner.commit();
  await other;
  assert.equal(await dueAt(qd, maintenanceTurn.kind, `${org} ${serviceId}`), later(600));
});

test('what goes down while the work ends is told, whichever of the two commits first', async (t) => {
  const { qd, serviceId, monitor, org, later } = await shop(t);
  await made(qd.owner.post('/uptime/maintenance', { serviceId, title: 'new disks', endsAt: later(600) }));
  // As a batch does that found the work still under way: down, and nobody is told.
  const batch = await held(qd, async (tx) => {
    const [state] = await lockStates(tx, [monitor.id]);
    await writeStates(tx, [
      { id: monitor.id, state: 'down', since: later(500), beganAt: state!.began_at, failingSince: later(490), flapping: false },
    ]);
  });
  await qd.clock.advance('10m');
  const turn = qd.app.db.write((tx) => maintenanceChanged(tx, org, serviceId));
  await settled(qd, turn);
  await batch.commit();
  await turn;
  assert.equal(await openIncidents(qd, monitor), 1);
});

test('a monitor that comes to a service while the work on it ends is told as well', async (t) => {
  const { qd, serviceId, org, later } = await shop(t);
  const { agents, monitor } = await watched(qd, ['paris']);
  await agents[0]!.fail(monitor);
  await agents[0]!.fail(monitor);
  await made(qd.owner.post('/uptime/maintenance', { serviceId, title: 'new disks', endsAt: later(600) }));
  await qd.clock.advance('10m');
  const turn = await held(qd, (tx) => maintenanceChanged(tx, org, serviceId));
  const move = made(qd.owner.patch(`/uptime/monitors/${monitor.id}`, { serviceId }));
  await settled(qd, move);
  const before = await openIncidents(qd, monitor);
  await turn.commit();
  await move;
  assert.deepEqual([before, await openIncidents(qd, monitor)], [0, 1], 'it waits for the turn, which does not know it');
});

test('a job that ends while it is being put off is made anew', async (t) => {
  const { qd, serviceId, monitor, org, later } = await shop(t);
  const key = `${org} ${serviceId}`;
  /** Somebody else's job ends right after we found that one is there. */
  const ending = (tx: Tx, gone: Parameters<typeof cancel>[1], itsKey: string): Tx => ({
    ...tx,
    query: async (piece) => {
      const answer = await tx.query(piece);
      if (/^\s*insert into kernel\.job/.test(statement(piece).text) && answer.rowCount === 0)
        await qd.app.db.write((other) => cancel(other, gone, itsKey));
      return answer;
    },
  });
  await made(qd.owner.post('/uptime/maintenance', { serviceId, title: 'new disks', startsAt: later(600), endsAt: later(900) }));
  await qd.app.db.write((tx) => maintenanceChanged(ending(tx, maintenanceTurn, key), org, serviceId));
  assert.equal(await dueAt(qd, maintenanceTurn.kind, key), later(600));

  const calm = (wrap: (tx: Tx) => Tx) => qd.app.db.write(async (tx) => scheduleFlapEnd(wrap(tx), await monitorsOf(tx, [monitor.id])));
  await calm((tx) => tx);
  await calm((tx) => ending(tx, endFlapping, monitor.id));
  assert.ok(await dueAt(qd, endFlapping.kind, monitor.id));
});
