import { figure, quantile } from './figure.ts';
import { good, withServer } from './server.ts';

const rows = 10_000_000;
const days = 7;
const vantages = 3;
const perSeries = days * 24 * 60;
const monitors = Math.ceil(rows / (vantages * perSeries));
const asked = 30;

/** Metrics of a monitor over the API, among ten million stored checks of the last week. */
export async function metricsQuery(): Promise<void> {
  await withServer({ QUARTERDECK_UPTIME_MONITOR_QUOTA: String(asked) }, async ({ owner, database }) => {
    const ids: string[] = [];
    for (let at = 0; at < asked; at++) {
      const http = { url: 'https://example.org/' };
      const body = { name: `bench ${at}`, kind: 'http', enabled: false, intervalSeconds: 60, vantages: ['local'], http };
      ids.push((await good(owner.post('/uptime/monitors', body))).id);
    }
    const began = performance.now();
    await database.query(
      `insert into uptime.vantage (id, label, created_at) select 'v' || n, 'v' || n, kernel.now() from generate_series(2, $1::int) n`,
      [vantages],
    );
    await database.query(`select uptime.make_partitions(kernel.now() - interval '${days + 1} days', kernel.now())`);
    const each = 'generate_series(1, $1::int) m cross join (select no from uptime.vantage) v';
    await database.query(
      `insert into uptime.check_rollup (bucket, monitor_no, vantage_no, n, ok, missed, excluded, ok_ms, bad_ms)
       select date_bin('5 minutes', c.now, 'epoch') - make_interval(mins => 5 * s), m, v.no, 5, 5, 0, 0, 500, 0
         from (select kernel.now() as now offset 0) c cross join ${each} cross join generate_series(0, $2::int) s`,
      [monitors, (days * 24 * 60) / 5],
    );
    // In the order of time, as they come: rows of one monitor lie scattered.
    for (let day = 0; day < days; day++) {
      await database.query(
        `insert into uptime.check_result (at, monitor_no, vantage_no, outcome, latency, resolve, connect, tls, first_byte, transfer, status)
         select c.now - make_interval(mins => s), m, v.no, 0, 100, 1, 10, 20, 60, 9, 200
           from (select kernel.now() as now offset 0) c cross join generate_series($3::int, $2::int, -1) s cross join ${each}`,
        [monitors, day * 1440, (day + 1) * 1440 - 1],
      );
    }
    await database.query('vacuum analyze uptime.check_result, uptime.check_rollup').catch(() => database.query('analyze'));
    const { rows: counted } = await database.query('select count(*)::int as n from uptime.check_result');
    console.log(
      `(${counted[0].n} checks of ${monitors} monitors from ${vantages} vantages, written in ${Math.round((performance.now() - began) / 1000)} s)`,
    );

    for (const [window, most] of [
      ['7d', 50],
      ['24h', undefined],
      ['1h', undefined],
    ] as const) {
      const times: number[] = [];
      for (const id of [...ids, ...ids, ...ids]) {
        const sent = performance.now();
        const { series } = await good(owner.get(`/uptime/monitors/${id}/metrics?window=${window}`));
        times.push(performance.now() - sent);
        if (series.length !== vantages || series[0].points.length < 50) throw new Error(`not every check of ${window} was found`);
      }
      const p95 = quantile(times, 0.95);
      figure(`metrics of ${window} over the API: p50`, quantile(times, 0.5), 'ms');
      figure(`                            p95`, p95, 'ms', most ? `< ${most}` : '', most ? p95 < most : undefined);
    }
  });
}
