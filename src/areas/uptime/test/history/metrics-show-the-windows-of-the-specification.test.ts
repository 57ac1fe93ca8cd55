import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller } from '../../../../../test/harness/index.ts';
import { DatabaseUnavailable, run } from '../../../../kernel/db/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { now } from '../../../../kernel/time.ts';
import { uptime } from '../../index.ts';
import { metricsOf, percent, spanOf } from '../../rules/windows.ts';
import { insertResults, type StoredResult } from '../../store/results.ts';
import { desk, made, monitor, roadTo } from '../agent-context.ts';

type Seen = { ago: number; outcome?: number; latency?: number; excluded?: boolean };

const outside = async (t: Parameters<typeof desk>[0]) => {
  const qd = await desk(t);
  const { id } = await monitor(qd.owner, { vantages: ['local', 'fra'] });
  const { app } = qd;
  const { rows } = await app.db.read((tx) => tx.query(sqlNumbers(id)));
  const numbers = rows[0] as { monitor: number; local: number; fra: number };
  const start = Date.parse(await app.db.read(now));
  const seen = (vantage: 'local' | 'fra', list: Seen[]) =>
    app.db.write(async (tx) => {
      const at = (ago: number) => new Date(start - ago * 1_000).toISOString();
      for (const { ago } of list) await run(tx)`select uptime.make_partitions(${at(ago)}, ${at(ago)})`;
      await insertResults(
        tx,
        numbers[vantage],
        list.map(({ ago, outcome = 0, latency = 100, excluded = false }): StoredResult => {
          const none = { degraded: false, resolve: null, connect: null, tls: null, firstByte: null, transfer: null, status: null };
          return { at: at(ago), monitorNo: numbers.monitor, outcome, excluded, latency: outcome === 3 ? null : latency, ...none };
        }),
      );
    });
  return {
    ...qd,
    id,
    seen,
    start,
    metrics: (window?: string) => made(qd.owner.get(`/uptime/monitors/${id}/metrics${window ? `?window=${window}` : ''}`)),
  };
};

const sqlNumbers = (id: string) => sql`
  select m.no as monitor, (select no from uptime.vantage where id = 'local') as local, (select no from uptime.vantage where id = 'fra') as fra
    from uptime.monitor m where m.id = ${id}`;

test('each window has its step, a point where something was checked, and uptime by vantage', async (t) => {
  const { owner, id, seen, metrics, start } = await outside(t);
  assert.deepEqual(await metrics(), { window: '24h', stepSeconds: 300, uptimePct: {}, series: [] });

  const old = 3 * 86_400;
  await seen('local', [
    { ago: 600, latency: 100 },
    { ago: 600, latency: 200 },
    { ago: 600, outcome: 1, latency: 5_000 }, // not in the mean of those that passed
    { ago: 1_200, outcome: 2, latency: 30 },
    { ago: 1_200, outcome: 1, latency: 50 },
    { ago: 1_800, outcome: 3 }, // never made: neither up nor down
    { ago: 2_400, outcome: 1, excluded: true }, // planned work
    { ago: old, latency: 1_000 },
  ]);
  await seen('fra', [{ ago: 600, latency: 7 }]);

  const floor = (ago: number, step: number) => Math.floor((start / 1_000 - ago) / step) * step;
  const hour = await metrics('1h');
  assert.deepEqual([hour.window, hour.stepSeconds], ['1h', 60]);
  assert.deepEqual(hour.uptimePct, { local: 40, fra: 100 });
  assert.deepEqual(hour.series, [
    {
      vantage: 'local',
      points: [
        { t: floor(1_200, 60), latencyMs: 40, up: 0 },
        { t: floor(600, 60), latencyMs: 150, up: 0.6667 },
      ],
    },
    { vantage: 'fra', points: [{ t: floor(600, 60), latencyMs: 7, up: 1 }] },
  ]);

  const dayLong = await metrics('24h');
  assert.deepEqual(dayLong.uptimePct, { local: 40, fra: 100 });
  assert.deepEqual(
    dayLong.series[0].points.map((p: { t: number }) => p.t),
    [floor(1_200, 300), floor(600, 300)],
  );
  const week = await metrics('7d');
  assert.deepEqual([week.window, week.stepSeconds], ['7d', 1_800]);
  assert.deepEqual(week.uptimePct, { local: 50, fra: 100 });
  assert.equal(week.series[0].points[0].t, floor(old, 1_800));
  assert.equal(week.series[0].points[0].latencyMs, 1_000);

  await seen('fra', [{ ago: 20 * 86_400, outcome: 1, latency: 9 }]);
  const month = await made(owner.get(`/uptime/monitors/${id}/month`));
  assert.deepEqual([month.stepSeconds, month.uptimePct], [7_200, { local: 50, fra: 50 }]);
  assert.deepEqual(month.series[1].points[0], { t: floor(20 * 86_400, 7_200), latencyMs: 9, up: 0 });
});

test('an interval longer than the step is the step', async (t) => {
  const { owner, id, metrics } = await outside(t);
  await made(owner.patch(`/uptime/monitors/${id}`, { intervalSeconds: 3_600 }));
  assert.deepEqual(
    [(await metrics('1h')).stepSeconds, (await metrics('24h')).stepSeconds, (await metrics('7d')).stepSeconds],
    [3_600, 3_600, 3_600],
  );
  const unknown = await owner.get(`/uptime/monitors/${id}/metrics?window=30d`);
  assert.deepEqual([unknown.status, unknown.body.error], [400, 'window must be one of 1h, 24h, 7d']);
  assert.deepEqual(spanOf('1h', 30), { step: 60, steps: 60, raw: true });
  assert.deepEqual(spanOf('24h', 30), { step: 300, steps: 288, raw: false });
  assert.deepEqual(spanOf('7d', 30), { step: 1_800, steps: 336, raw: false });
  assert.deepEqual(spanOf('30d', 30), { step: 7_200, steps: 360, raw: false });
  // One more than the window has, for the newest has only begun: right after the hour, the hour before is what there is to see.
  assert.deepEqual(spanOf('1h', 3_600), { step: 3_600, steps: 2, raw: true });
  assert.deepEqual(spanOf('1h', 1_800), { step: 1_800, steps: 3, raw: true });
  assert.deepEqual(spanOf('24h', 3_600), { step: 3_600, steps: 25, raw: false });
});

test('while the database is away metrics are 503, everything else of uptime 502, and both say that it passes', async (t) => {
  const { connection, dataDir, owner } = await desk(t);
  const { id } = await monitor(owner);
  const road = await roadTo(t, connection);
  const far = await desk(t, { connection: road.connection, dataDir });
  const key = caller(far.url, owner.key);
  await made(key.get(`/uptime/monitors/${id}/metrics`));
  await road.close();
  // Whether who asks is still known, or cannot even be looked up any more.
  for (let n = 0; n < 3; n++) {
    for (const path of ['metrics', 'month']) {
      const metrics = await key.get(`/uptime/monitors/${id}/${path}`);
      assert.equal(metrics.status, 503);
      assert.match(metrics.body.error, /^metrics temporarily unavailable; the monitor is unaffected, try|^the database is away; try again/);
      assert.ok(Number(metrics.headers.get('retry-after')) > 0);
    }
    for (const path of [`monitors/${id}`, 'monitors', 'ping', 'catalog', `monitors/${id}/failures`]) {
      const answer = await key.get(`/uptime/${path}`);
      assert.deepEqual([answer.status, answer.body.error], [502, 'the backend is unreachable; try again in a moment'], path);
    }
  }
  await road.open();
  await far.stop();
});

test('a store of metrics that fails is 503 by itself: the monitor can still be read', async (t) => {
  const { owner, id, own } = await outside(t);
  const { metricsStore } = own(uptime);
  const { buckets } = metricsStore;
  metricsStore.buckets = async () => {
    throw new DatabaseUnavailable(new Error('canceling statement due to statement timeout'));
  };
  const metrics = await owner.get(`/uptime/monitors/${id}/metrics`);
  assert.deepEqual(
    [metrics.status, metrics.body.error],
    [503, 'metrics temporarily unavailable; the monitor is unaffected, try again in a moment'],
  );
  assert.equal((await owner.get(`/uptime/monitors/${id}`)).status, 200);
  metricsStore.buckets = buckets;
  assert.equal((await owner.get(`/uptime/monitors/${id}/metrics`)).status, 200);
});

test('uptime is never rounded up to 100, nor down to 0', () => {
  assert.equal(percent(0, 10), 100);
  assert.equal(percent(10, 10), 0);
  assert.equal(percent(1, 100_000_000), 99.9999);
  assert.equal(percent(99_999_999, 100_000_000), 0.0001);
  assert.equal(percent(1, 3), 66.6667);
  assert.deepEqual(metricsOf([]), { series: [], uptimePct: {} });
});
