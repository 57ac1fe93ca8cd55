import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeMetrics } from '../../src/boot/metrics.ts';
import { freePort } from '../harness/free-port.ts';
import { quarterdeck } from '../harness/index.ts';

test('the numbers are shown to a caller with their token, or at an address of their own', async (t) => {
  const port = await freePort();
  const env = { QUARTERDECK_METRICS_TOKEN: 'numbers', QUARTERDECK_METRICS_LISTEN: `127.0.0.1:${port}` };
  const { url, owner, anonymous } = await quarterdeck(t, { env });
  const ask = (authorization?: string) => fetch(`${url}/metrics`, authorization ? { headers: { authorization } } : {});
  for (const wrong of [undefined, 'Bearer', 'Bearer ', 'Bearer wrong', 'Basic numbers', `Bearer ${owner.key}`]) {
    const refused = await ask(wrong);
    assert.equal(refused.status, 401, String(wrong));
    assert.match(((await refused.json()) as { error: string }).error, /QUARTERDECK_METRICS_TOKEN/);
  }

  assert.equal((await owner.get('/tokens')).status, 200);
  assert.equal((await owner.get('/tokens')).status, 200); // a remembered answer counts like any other
  assert.equal((await anonymous.get('/tokens')).status, 401);
  assert.equal((await owner.get('/nothing')).status, 404);
  const shown = await ask('bearer numbers');
  assert.equal(shown.status, 200);
  const text = await shown.text();
  const value = (series: string) =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')
        .at(-1),
    );
  assert.equal(value('quarterdeck_http_request_seconds_count{operation="listTokens",status="2xx"}'), 2);
  assert.equal(value('quarterdeck_http_request_seconds_count{operation="listTokens",status="4xx"}'), 1);
  assert.equal(value('quarterdeck_http_refusals_total{status="404"}'), 1);
  assert.equal(value('quarterdeck_listener_hearing'), 1);
  assert.ok(value('quarterdeck_database_pool_connections{state="idle"}') >= 1);
  assert.equal(value('quarterdeck_jobs_dead'), 0);
  assert.ok(value('nodejs_eventloop_lag_p99_seconds') >= 0);
  assert.doesNotMatch(text, /qd_pat_/);

  const aside = await fetch(`http://127.0.0.1:${port}/metrics`);
  assert.equal(aside.status, 200);
  assert.match(await aside.text(), /^quarterdeck_listener_hearing 1$/m);
  assert.equal((await fetch(`http://127.0.0.1:${port}/api/v1/tokens`)).status, 404);
});

test('a further server of a process takes no further timer or observer for the figures of the process', async (t) => {
  const { app } = await quarterdeck(t);
  const [one, other] = [makeMetrics(app), makeMetrics(app)];
  for (const name of ['nodejs_eventloop_lag_p99_seconds', 'nodejs_gc_duration_seconds']) {
    assert.ok(one.getSingleMetric(name), name);
    assert.equal(other.getSingleMetric(name), one.getSingleMetric(name), name);
  }
});

test('without a token set they are closed on the main port', async (t) => {
  const { url } = await quarterdeck(t);
  for (const authorization of ['Bearer ', 'Bearer x'])
    assert.equal((await fetch(`${url}/metrics`, { headers: { authorization } })).status, 401);
});

test('alive is one thing, ready another: it needs the database', async (t) => {
  const { url, app } = await quarterdeck(t);
  const status = async (path: string) => (await fetch(url + path)).status;
  assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 200]);
  const away = t.mock.method(app.db.pool, 'connect', () => Promise.reject(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })));
  assert.deepEqual([await status('/healthz'), await status('/readyz')], [200, 503]);
  away.mock.restore();
  assert.equal(await status('/readyz'), 200);
});
