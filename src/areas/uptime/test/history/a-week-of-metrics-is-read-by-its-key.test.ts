import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { Sql } from '../../../../kernel/sql.ts';
import { spanOf, type Window } from '../../rules/windows.ts';
import { sqlMetrics } from '../../store/metrics-store.ts';
import { desk } from '../agent-context.ts';

/** The store as it is, on a database that only says how it would find the rows. */
async function planOf(app: App, window: Window): Promise<string> {
  let plan = '';
  const explaining = (tx: Tx): Tx => ({
    ...tx,
    query: async ({ strings, values }) => {
      const { rows } = await tx.query(new Sql([`explain (analyze, timing off) ${strings[0]}`, ...strings.slice(1)], values));
      plan = rows.map((r) => r['QUERY PLAN']).join('\n');
      return { rows: [], rowCount: 0 };
    },
  });
  const db = { ...app.db, read: <T>(work: (tx: Tx) => Promise<T>) => app.db.read((tx) => work(explaining(tx))) };
  await sqlMetrics(db).buckets(7, spanOf(window, 60));
  return plan;
}

test('a week, a day and an hour of one monitor are found by an index, and other weeks are not looked into', async (t) => {
  const { app } = await desk(t);
  await app.db.write(async (tx) => {
    await run(tx)`select uptime.make_partitions(kernel.now() - interval '30 days', kernel.now())`;
    await run(tx)`
      insert into uptime.check_rollup (bucket, monitor_no, vantage_no, n, ok, missed, excluded, ok_ms, bad_ms)
      select date_bin('5 minutes', c.now, timestamptz '2000-01-01 00:00:00+00') - make_interval(mins => 5 * s), m, 1, 5, 5, 0, 0, 500, 0
        from (select kernel.now() as now offset 0) c, generate_series(1, 20) m, generate_series(0, 3000) s`;
    await run(tx)`
      insert into uptime.check_result (at, monitor_no, vantage_no, outcome, latency)
      select c.now - make_interval(secs => 60 * s), m, 1, 0, 100
        from (select kernel.now() as now offset 0) c, generate_series(1, 200) m, generate_series(0, 200) s`;
  });
  await app.db.read((tx) => tx.query(new Sql(['analyze uptime.check_rollup, uptime.check_result'], [])));

  for (const [window, table, key] of [
    ['7d', 'check_rollup', /check_rollup_\d{4}_\d\d_\d\d_pkey/],
    ['24h', 'check_rollup', /check_rollup_\d{4}_\d\d_\d\d_pkey/],
    ['1h', 'check_result', /check_result_\d{4}_\d\d_\d\d_monitor_no_at_idx/],
  ] as const) {
    const plan = await planOf(app, window);
    assert.match(plan, key, plan);
    assert.doesNotMatch(plan, new RegExp(`Seq Scan on ${table}_\\d{4}\\S* \\S+ .*\\(actual rows=[1-9]`), plan);
    // Of a month, the window's own partitions are opened, and the empty ones that were made ahead.
    assert.match(plan, /Subplans Removed: [1-9]/, plan);
    const opened = new Set([...plan.matchAll(new RegExp(`on (${table}_\\d{4}_\\d\\d_\\d\\d) `, 'g'))].map((m) => m[1]));
    assert.ok(opened.size <= 4, `${window} opened ${[...opened]}\n${plan}`);
  }
});
