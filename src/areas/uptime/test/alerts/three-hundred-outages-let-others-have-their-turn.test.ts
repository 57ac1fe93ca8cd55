import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { rows, run } from '../../../../kernel/db/index.ts';
import { monitorsPerRun } from '../../engine/notify-oncall.ts';
import { agent, made, monitor, untilTold } from '../support.ts';

const Claim = Type.Object({ untold: Type.Integer() });

/** Notes how much is untold whenever a worker claims the job that tells it. */
async function noteClaims({ app }: Quarterdeck) {
  await app.db.write(async (tx) => {
    await run(tx)`create table public.claim (n bigint generated always as identity, untold int)`;
    await run(tx)`
      create function public.note_claim() returns trigger language plpgsql as $$
      begin insert into public.claim (untold) select count(*) from uptime.telling; return new; end $$`;
    await run(tx)`
      create trigger note_claim before update on kernel.job for each row
      when (new.kind = 'uptime.tell-oncall' and new.lease is distinct from old.lease and new.lease is not null)
      execute function public.note_claim()`;
  });
  return () => app.db.read((tx) => rows(tx, Claim)`select untold from public.claim order by n`);
}

async function manyMonitors(qd: Quarterdeck, serviceId: string, n: number) {
  const tokyo = await agent(qd, 'tokyo');
  const monitors: { id: string }[] = [];
  for (let i = 0; i < n; i++) {
    if (i % 50 === 0) await tokyo.session();
    monitors.push(await monitor(qd.owner, ['tokyo'], { serviceId, downCondition: { confirmations: 1, quorum: 1 } }));
  }
  return { monitors, all: (outcome: 'pass' | 'error') => tokyo.report(...monitors.map(({ id }) => ({ monitor: id, outcome }))) };
}

test('on-call is notified of many monitors a few at a time, each run behind other jobs of the lane', {
  timeout: 120_000,
}, async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,worker', QUARTERDECK_UPTIME_MONITOR_QUOTA: '1000' } });
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { monitors, all } = await manyMonitors(qd, serviceId, 60);
  await all('pass');
  const claims = await noteClaims(qd);
  await all('error');
  await untilTold(qd, 60_000);
  const untold = (await claims()).map((c) => c.untold);
  assert.deepEqual(untold, [monitors.length, monitors.length - monitorsPerRun, monitors.length - 2 * monitorsPerRun]);
});

test('many monitors that flap at once are put off in a handful of statements', { timeout: 120_000 }, async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_UPTIME_MONITOR_QUOTA: '1000' } });
  const { id: serviceId } = await made(qd.owner.post('/uptime/services', { name: 'shop' }));
  const { monitors, all } = await manyMonitors(qd, serviceId, 40);
  let statements = 0;
  const { write } = qd.app.db;
  qd.app.db.write = (work) =>
    write((tx) =>
      work({
        ...tx,
        query: (piece) => {
          statements++;
          return tx.query(piece);
        },
      }),
    );
  t.after(() => (qd.app.db.write = write));
  for (let i = 0; i < 10; i++) {
    await qd.clock.advance('10s');
    statements = 0;
    await all(i % 2 ? 'error' : 'pass');
    assert.ok(statements <= 20, `${statements} statements`);
  }
  const Calm = Type.Object({ key: Type.String(), seconds: Type.Number() });
  const calm = await qd.app.db.read(
    (tx) => rows(tx, Calm)`
      select key, extract(epoch from run_at - kernel.now())::float8 as seconds from kernel.job where kind = 'uptime.calm-down'`,
  );
  assert.equal(calm.length, monitors.length, 'each has one job');
  assert.ok(
    calm.every((c) => c.seconds > 150),
    'put off by the last change',
  );
});
