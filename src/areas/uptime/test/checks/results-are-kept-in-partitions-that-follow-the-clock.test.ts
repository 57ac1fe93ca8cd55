import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { rows, run } from '../../../../kernel/db/index.ts';
import { forgetOld, keepPartitions } from '../../tasks.ts';
import { agent, eventually, failuresOf, history, made, watched } from '../support.ts';

const partitions = ({ app }: Quarterdeck, parent: string) =>
  app.db.read(async (tx) =>
    (
      await rows(tx, Type.Object({ name: Type.String() }))`
        select c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid where i.inhparent = ${`uptime.${parent}`}::regclass order by 1`
    ).map((p) => p.name.slice(parent.length + 1)),
  );

const today = async ({ app }: Quarterdeck) =>
  (await app.db.read((tx) => rows(tx, Type.Object({ at: Type.String() }))`select kernel.now() as at`))[0]!.at
    .slice(0, 10)
    .replaceAll('-', '_');

test('days are made ahead and on demand, and dropped whole when they are outlived', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } }); // no worker: tasks run when the test says so
  const { agents, monitor } = await watched(qd, ['tokyo']);
  const tokyo = agents[0]!;
  await qd.perform(keepPartitions);
  assert.ok((await partitions(qd, 'check_result')).length >= 4, 'yesterday, today and two days ahead');
  await tokyo.report({ monitor: monitor.id, ageMs: 86_400_000 }, { monitor: monitor.id });
  assert.equal((await history(qd, monitor)).results, 2);

  // Nobody has made room for this day: the batch does it.
  await qd.clock.advance('5d');
  await tokyo.report({ monitor: monitor.id, ageMs: 86_400_000 }, { monitor: monitor.id });
  assert.deepEqual(await history(qd, monitor), { results: 4, rolled: 4, missed: 0, excluded: 0 });
  const busy = await Promise.all(Array.from({ length: 3 }, () => agent(qd, 'tokyo')));
  await qd.clock.advance('3d');
  await Promise.all(busy.map((b) => b.report({ monitor: monitor.id }, { monitor: monitor.id, ageMs: 10 })));
  assert.equal((await history(qd, monitor)).results, 10, 'several that need the same new day at once');

  await qd.clock.advance('2d');
  await qd.perform(keepPartitions);
  const left = await partitions(qd, 'check_result');
  const oldest = new Date(Date.parse((await today(qd)).replaceAll('_', '-')) - 8 * 86_400_000)
    .toISOString()
    .slice(0, 10)
    .replaceAll('-', '_');
  assert.ok(left[0]! >= oldest, `${left[0]} is older than 8 days before ${await today(qd)}`);
  assert.equal(left.at(-1)! > (await today(qd)), true);
  assert.deepEqual(await history(qd, monitor), { results: 8, rolled: 10, missed: 0, excluded: 0 }, 'the steps are kept for longer');

  // A reader that holds an outlived day does not hold up those who write; it is dropped later.
  await qd.clock.advance('9d');
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { promise: holding, resolve: isHolding } = Promise.withResolvers<void>();
  const reader = qd.app.db.write(async (tx) => {
    await run(tx)`select count(*) from uptime.check_result`;
    isHolding();
    await held;
  });
  await holding;
  await qd.perform(keepPartitions);
  await tokyo.pass(monitor);
  assert.ok((await history(qd, monitor)).results > 1);
  release();
  await reader;
  await qd.perform(keepPartitions);
  assert.equal((await history(qd, monitor)).results, 1);

  await qd.clock.advance('45d');
  await qd.perform(keepPartitions);
  assert.deepEqual(await history(qd, monitor), { results: 0, rolled: 0, missed: 0, excluded: 0 });
  await tokyo.pass(monitor);

  // Set back to a day whose partition this process still remembers.
  await qd.clock.advance('-64d');
  await tokyo.pass(monitor);
  assert.equal((await history(qd, monitor)).results, 2);
});

test('a worker keeps the partitions by itself', async (t) => {
  const qd = await quarterdeck(t);
  await qd.clock.advance('20d');
  await eventually(async () => {
    await qd.clock.advance('1h'); // the run of the start may still be under way while the clock jumps; the next is due an hour later
    return (await partitions(qd, 'check_result')).at(-1)! > (await today(qd));
  });
});

test('of failures the newest 200 stay, for 30 days', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { agents, monitor } = await watched(qd, ['tokyo']);
  for (let i = 0; i < 3; i++)
    await agents[0]!.report(
      ...Array.from({ length: 100 }, (_, n) => ({ monitor: monitor.id, outcome: 'error' as const, ageMs: (3 - i) * 1_000 + 100 - n })),
    );
  const count = async () =>
    (
      await qd.app.db.read(
        (tx) =>
          rows(tx, Type.Object({ n: Type.Integer() }))`select count(*)::int as n from uptime.failure where monitor_id = ${monitor.id}`,
      )
    )[0]!.n;
  const before = await failuresOf(qd.owner, monitor);
  assert.ok((await count()) > 200);
  await qd.perform(forgetOld);
  assert.equal(await count(), 200);
  assert.deepEqual(await failuresOf(qd.owner, monitor), before);
  await qd.clock.advance('31d');
  await qd.perform(forgetOld);
  assert.equal(await count(), 0);
  assert.equal((await made(qd.owner.get(`/uptime/monitors/${monitor.id}/transitions`))).transitions.length, 1, 'changes of state are kept');
});
