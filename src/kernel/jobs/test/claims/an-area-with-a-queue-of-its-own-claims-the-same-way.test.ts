import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import Type from 'typebox';
import { sql } from '../../../sql.ts';
import { claim, renew, settle } from '../../index.ts';
import { workbench } from '../support.ts';

test('an area with a queue of its own claims, renews and settles with the same functions', async (t) => {
  const { app, advance, sql: ask } = await workbench(t);
  await ask(
    `create table public.recipient (id text primary key, node text, run_at timestamptz(3), attempts int default 0, lease uuid, lease_until timestamptz(3), state text default 'queued')`,
  );
  await ask(
    `insert into public.recipient (id, node, run_at) select 'rcp_' || i, case when i < 5 then 'a' else 'b' end, kernel.now() - make_interval(secs => 10 - i) from generate_series(1, 9) i`,
  );
  const queue = { table: sql`public.recipient`, idType: sql`text` };
  const Row = Type.Object({ id: Type.String(), attempts: Type.Integer(), lease: Type.String(), late_ms: Type.Number() });
  const take = (limit: number) =>
    app.db.read((tx) =>
      claim(tx, Row, queue, { which: sql`q.node = 'a'`, limit, lease: randomUUID(), leaseSeconds: 30, returning: sql`q.id, q.attempts` }),
    );

  const [first, second] = await Promise.all([take(2), take(2)]);
  assert.deepEqual([...first, ...second].map((r) => r.id).toSorted(), ['rcp_1', 'rcp_2', 'rcp_3', 'rcp_4'], 'each once, of one node only');
  assert.ok(first.every((r) => r.late_ms >= 6_000 && r.late_ms < 12_000));
  assert.deepEqual(await take(2), []);

  await advance(20);
  assert.deepEqual(
    await app.db.read((tx) =>
      renew(
        tx,
        queue,
        first.map((r) => ({ ...r, leaseSeconds: 30 })),
      ),
    ),
    ['settled', 'settled'],
  );
  await advance(20);
  const again = await take(4);
  assert.deepEqual(again.map((r) => r.id).toSorted(), second.map((r) => r.id).toSorted(), 'what was not renewed');
  assert.ok(again.every((r) => r.attempts === 2));

  const sent = sql`sent as (update public.recipient r set state = 'sent', lease = null, lease_until = null, run_at = null from mine where r.id = mine.id)`;
  const verdicts = await app.db.read((tx) => settle(tx, queue, [...first, ...second], sql`q.id`, sent));
  assert.deepEqual(verdicts, ['settled', 'settled', 'lost', 'lost']);
  assert.deepEqual(await ask(`select state, count(*)::int as n from public.recipient group by state order by state`), [
    { state: 'queued', n: 7 },
    { state: 'sent', n: 2 },
  ]);
});
