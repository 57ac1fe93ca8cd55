import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { liveAvailabilityOf } from '../../index.ts';
import { maxChanges, maxChangesPerService } from '../../store/availability.ts';
import { desk, made, monitor } from '../agent-context.ts';

test('so many changes are read and no more, what was before counts as unwatched, and the answer says from when on it counts', async (t) => {
  const { owner, app } = await desk(t);
  const shop = await made(owner.post('/uptime/services', { name: 'shop' }));
  const calm = await made(owner.post('/uptime/services', { name: 'calm' }));
  const front = await monitor(owner, { serviceId: shop.id });
  const still = await monitor(owner, { serviceId: calm.id });
  // Every ten minutes for 300 days the one changed; the other came up once, 300 days ago.
  const changes = 300 * 144;
  const change = (id: string, n: number) =>
    app.db.write(
      (tx) => run(tx)`
        insert into uptime.transition (org_id, id, monitor_id, at, from_state, to_state, failing_vantages, since)
        select ${owner.orgId}, 'trn_' || right(${id}, 10) || lpad(n::text, 16, '0'), ${id}, c.now - make_interval(mins => 10 * (${changes} - n)),
               case n % 2 when 0 then 'down' else 'up' end, case n % 2 when 0 then 'up' else 'down' end, '{}', c.now - make_interval(mins => 10 * (${changes} - n))
          from generate_series(0, ${n - 1}::int) n, (select kernel.now() as now offset 0) c`,
    );
  await change(front.id, changes);
  await change(still.id, 1);

  let mostRows = 0;
  await app.db.read((tx) =>
    liveAvailabilityOf(
      {
        ...tx,
        query: async (piece) => {
          const answer = await tx.query(piece);
          mostRows = Math.max(mostRows, answer.rows.length);
          return answer;
        },
      },
      owner.orgId,
      [shop.id, calm.id],
      90,
    ),
  );
  assert.ok(mostRows <= maxChangesPerService(2) + 2, `${mostRows} rows`);
  assert.deepEqual([maxChangesPerService(1), maxChangesPerService(100)], [maxChanges, 200]);

  const { countedFrom, days, months } = await made(owner.get(`/uptime/services/${shop.id}/availability`));
  const told = (Date.now() - Date.parse(countedFrom)) / 86_400_000;
  assert.ok(Math.abs(told - maxChanges / 144) < 2, `counted from ${countedFrom}`);
  // Of the first day and of today there may be a few minutes only.
  const today = new Date().toISOString().slice(0, 10);
  const whole = days.filter(({ date }: { date: string }) => date > countedFrom.slice(0, 10) && date < today);
  assert.ok(whole.length > 30 && whole.every((d: { uptimePct: number }) => d.uptimePct > 40 && d.uptimePct < 60));
  assert.ok(months.length <= 6 && months[0].month >= countedFrom.slice(0, 7));
  const quiet = await made(owner.get(`/uptime/services/${calm.id}/availability`));
  assert.equal(quiet.countedFrom, undefined);
  assert.ok(quiet.months.length >= 10);
});
