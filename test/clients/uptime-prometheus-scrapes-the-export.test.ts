import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { desk, made, monitor } from '../../src/areas/uptime/test/agent-context.ts';
import { run } from '../../src/kernel/db/index.ts';
import { freePort } from '../harness/free-port.ts';
import { caller, type Quarterdeck } from '../harness/index.ts';
import { eventually as patiently } from '../harness/process.ts';
import { folderOf, program } from './alertmanager-support.ts';

// Debian's Prometheus and its promtool, on loopback.

const rulesFile = new URL('../../deploy/uptime/prometheus-rules.yml', import.meta.url).pathname;

/** Prometheus looks once a second, and a busy machine may take its time. */
const eventually: typeof patiently = (ask) => patiently(ask, { withinMs: 60_000, everyMs: 100 });

const promtool = (args: string[], input?: string) => asked('promtool', args, input);
const asked = (command: string, args: string[], input?: string) => {
  const { status, stdout, stderr } = spawnSync(command, args, { encoding: 'utf8', ...(input === undefined ? {} : { input }) });
  return { status, said: stdout + stderr };
};

/** Its query API: the samples of an instant query. */
async function prometheus(t: TestContext, { url, token }: { url: string; token: string }) {
  const folder = await folderOf(t);
  const listen = `127.0.0.1:${await freePort()}`;
  await writeFile(
    join(folder, 'prometheus.yml'),
    `global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: ['${rulesFile}']
scrape_configs:
- job_name: quarterdeck-uptime
  honor_labels: true
  metrics_path: /api/v1/uptime/export/metrics
  authorization: {credentials: ${token}}
  static_configs: [{targets: ['${new URL(url).host}']}]
`,
  );
  await program(
    t,
    'prometheus',
    [`--config.file=${folder}/prometheus.yml`, `--storage.tsdb.path=${folder}/data`, `--web.listen-address=${listen}`],
    `http://${listen}/-/ready`,
  );
  /** Whether it was scraped well: its own words when not. */
  const scraped = async () => {
    const { data } = (await (await fetch(`http://${listen}/api/v1/targets`)).json()) as {
      data: { activeTargets: { health: string; lastError: string }[] };
    };
    const [target] = data.activeTargets;
    if (target?.lastError) throw new Error(target.lastError);
    return target?.health === 'up';
  };
  await eventually(scraped);
  return async (query: string): Promise<{ metric: Record<string, string>; value: number }[]> => {
    const answer = await fetch(`http://${listen}/api/v1/query?query=${encodeURIComponent(query)}`);
    const { data } = (await answer.json()) as { data: { result: { metric: Record<string, string>; value: [number, string] }[] } };
    return data.result.map(({ metric, value }) => ({ metric, value: Number(value[1]) }));
  };
}

/** As if every vantage of the monitor had just reported. */
const report = ({ app }: Quarterdeck, id: string, outcome: 'pass' | 'fail') =>
  app.db.write(async (tx) => {
    const latest = {
      outcome,
      latencyMs: 123,
      status: outcome === 'pass' ? 200 : 500,
      phases: { resolve: 1, connect: 2, tls: 3, firstByte: 100, transfer: 17 },
      redirects: 1,
      family: 4,
      httpVersion: '1.1',
      contentLength: 5,
      certificateUntil: 1_900_000_000_000,
      tlsVersion: 'TLS 1.3',
    };
    await run(
      tx,
    )`update uptime.vantage_state set latest = ${JSON.stringify(latest)}, latest_at = kernel.now(), last_at = kernel.now(), passed = passed + 1,
      latency_sum = latency_sum + 0.123, latency_hist[6] = latency_hist[6] + 1 where monitor_id = ${id}`;
    await run(tx)`update uptime.monitor_state set state = ${outcome === 'pass' ? 'up' : 'down'} where monitor_id = ${id}`;
  });

test('a real Prometheus scrapes the export, sees it change and go stale, and is refused once the token is revoked', {
  timeout: 170_000,
}, async (t) => {
  const qd = await desk(t);
  const { owner, url } = qd;
  const service = await made(owner.post('/uptime/services', { name: 'shop' }));
  const front = await monitor(owner, { name: 'front "door" \\ ☃\nsecond line', serviceId: service.id, vantages: ['local', 'fra'] });
  await report(qd, front.id, 'pass');
  const token = await made(owner.post('/uptime/export-tokens', { name: 'prometheus' }));
  const query = await prometheus(t, { url, token: token.token });

  const [seen] = await eventually(async () => {
    const found = await query('probe_success{vantage="fra"}');
    return found.length ? found : undefined;
  });
  assert.equal(seen!.value, 1);
  const { __name__, job, ...labels } = seen!.metric;
  assert.deepEqual([__name__, job], ['probe_success', 'quarterdeck-uptime']);
  assert.deepEqual(labels, {
    monitor_id: front.id,
    monitor: 'front "door" \\ ☃\nsecond line',
    service: 'shop',
    kind: 'http',
    instance: 'https://shop.example/health',
    vantage: 'fra',
  });
  const one = async (text: string) => (await query(text))[0]?.value;
  assert.equal(await one('probe_http_duration_seconds{phase="processing",vantage="local"}'), 0.1);
  assert.equal(await one('uptime_check_total{outcome="pass",vantage="local"}'), 1);
  assert.equal(await one('histogram_quantile(0.5, uptime_check_duration_seconds_bucket{vantage="local"})'), 0.175);
  assert.equal(await one('probe_tls_version_info{version="TLS 1.3",vantage="local"}'), 1);
  assert.equal((await query('{job="quarterdeck-uptime", __name__=~"probe_.*|uptime_.*"}')).length > 60, true);

  await report(qd, front.id, 'fail');
  await eventually(async () => (await one('probe_success{vantage="local"}')) === 0);
  await eventually(async () => (await one('ALERTS{alertname="UptimeMonitorDown", alertstate="firing"}')) === 1);
  await eventually(async () => (await one('uptime:service_down:max{service="shop"}')) === 1);

  await qd.clock.advance('5m');
  await eventually(async () => (await query('probe_success')).length === 0);
  assert.equal(await one('uptime_monitor_state{state="down"}'), 1);

  assert.equal((await owner.delete(`/uptime/export-tokens/${token.id}`)).status, 204);
  await eventually(async () => (await one('up{job="quarterdeck-uptime"}')) === 0);
});

test('promtool finds nothing wrong with the text', async (t) => {
  const qd = await desk(t);
  const { owner, url } = qd;
  for (const [name, state] of [
    ['front', 'pass'],
    ['back', 'fail'],
  ] as const) {
    const { id } = await monitor(owner, { name });
    await report(qd, id, state);
  }
  const { token } = await made(owner.post('/uptime/export-tokens', { name: 'promtool' }));
  const { status, body } = await caller(url, token).get('/uptime/export/metrics');
  assert.equal(status, 200);
  assert.deepEqual(promtool(['check', 'metrics'], body), { status: 0, said: '' });
  const { status: spoiled } = promtool(['check', 'metrics'], `${body}probe_success{ 1\n`);
  assert.notEqual(spoiled, 0, 'promtool does look');
});

test('promtool accepts the rules and the scrape configuration of the documentation', async (t) => {
  const checked = promtool(['check', 'rules', '--lint=all', '--lint-fatal', rulesFile]);
  assert.equal(checked.status, 0, checked.said);
  const folder = await folderOf(t);
  const docs = await readFile(new URL('../../docs/tours/uptime.md', import.meta.url), 'utf8');
  const [, yaml] = /```yaml\n([\s\S]*?)```/.exec(docs) ?? assert.fail('the documentation has no scrape configuration');
  await writeFile(join(folder, 'prometheus.yml'), yaml!);
  await writeFile(join(folder, 'quarterdeck-uptime.yml'), await readFile(rulesFile));
  const config = promtool(['check', 'config', '--syntax-only', join(folder, 'prometheus.yml')]);
  assert.equal(config.status, 0, config.said);
});

test('burn rates page for what burns, and for as long as it does', async (t) => {
  const folder = await folderOf(t);
  const series = 'uptime_monitor_state{monitor_id="mon_1",monitor="front",service="shop",state="down"}';
  const labels = (burn: string, severity: string) => `[{exp_labels: {service: shop, burn: ${burn}, severity: ${severity}}}]`;
  // Up for a day, down for ten minutes, and up again; a sample a minute.
  const story = `rule_files: ['${rulesFile}']
evaluation_interval: 1m
tests:
- interval: 1m
  input_series: [{series: '${series}', values: '0x1439 1x9 0x400'}]
  alert_rule_test:
  - {eval_time: 1439m, alertname: UptimeBudgetBurnsFast}
  - {eval_time: 1439m, alertname: UptimeBudgetBurns}
  - {eval_time: 1445m, alertname: UptimeBudgetBurnsFast, exp_alerts: ${labels('14.4x', 'critical')}}
  - {eval_time: 1445m, alertname: UptimeBudgetBurns, exp_alerts: ${labels('6x', 'critical')}}
  - {eval_time: 1460m, alertname: UptimeBudgetBurnsFast}
  - {eval_time: 1465m, alertname: UptimeBudgetBurns, exp_alerts: ${labels('6x', 'critical')}}
  - {eval_time: 1485m, alertname: UptimeBudgetBurns}
  - {eval_time: 1485m, alertname: UptimeBudgetBurnsSlowly, exp_alerts: ${labels('1x', 'warning')}}
  - {eval_time: 1815m, alertname: UptimeBudgetBurnsSlowly}
`;
  // The annotations are prose and carry figures: only which alert fires for whom is compared.
  const bare = (await readFile(rulesFile, 'utf8')).replaceAll(/^ +annotations:\n(?: {10}.*\n)+/gm, '');
  await writeFile(join(folder, 'rules.yml'), bare);
  await writeFile(join(folder, 'story.yml'), story.replace(rulesFile, join(folder, 'rules.yml')));
  const told = promtool(['test', 'rules', join(folder, 'story.yml')]);
  assert.equal(told.status, 0, told.said);
});
