import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { agent, eventually, history, monitor } from '../support.ts';

test('a batch of 500 is a handful of statements, and what it counted can be scraped', { timeout: 120_000 }, async (t) => {
  const qd = await quarterdeck(t, {
    env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_METRICS_TOKEN: 'look', QUARTERDECK_UPTIME_MONITOR_QUOTA: '1000' },
  });
  const tokyo = await agent(qd, 'tokyo');
  const monitors: { id: string }[] = [];
  for (let i = 0; i < 100; i++) monitors.push(await monitor(qd.owner, ['tokyo']));
  const batch = () =>
    Array.from({ length: 500 }, (_, i) => ({
      monitor: monitors[i % 100]!.id,
      ageMs: 5_000 - 1_000 * Math.floor(i / 100),
      latencyMs: 20,
      phases: { resolve: 1, connect: 2, tls: 3, firstByte: 4, transfer: 5 },
    }));
  await tokyo.report(...batch()); // everything comes up: transitions are written once, and partitions looked for

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
  await qd.clock.advance('60s');
  statements = 0;
  const began = performance.now();
  await tokyo.report(...batch());
  t.diagnostic(`500 results: ${statements} statements, ${(performance.now() - began).toFixed(0)} ms`);
  assert.ok(statements <= 8, `${statements} statements`);
  assert.equal((await history(qd, monitors[0]!)).results, 10);

  await tokyo.report({ monitor: monitors[0]!.id, outcome: 'error' }, { monitor: monitors[0]!.id, outcome: 'missed' });
  assert.equal((await tokyo.send([], { seq: tokyo.seq, degraded: true })).status, 200);
  const text = await eventually(async () => {
    const answer = await fetch(`${qd.url}/metrics`, { headers: { authorization: 'Bearer look' } });
    return answer.ok ? answer.text() : undefined;
  });
  const value = (name: string) => Number(new RegExp(`^quarterdeck_uptime_${name} (\\S+)$`, 'm').exec(text)?.[1]);
  assert.equal(value('results_total\\{vantage="tokyo",outcome="pass"\\}'), 1_000);
  assert.equal(value('results_total\\{vantage="tokyo",outcome="error"\\}'), 1);
  assert.equal(value('results_total\\{vantage="tokyo",outcome="missed"\\}'), 1);
  assert.equal(value('batches_total\\{vantage="tokyo",is="stored"\\}'), 3);
  assert.equal(value('batches_total\\{vantage="tokyo",is="known"\\}'), 1);
  assert.equal(value('transitions_total\\{vantage="tokyo"\\}'), 100);
  assert.equal(value('monitors\\{state="up"\\}'), 100);
  assert.equal(value('live_probers\\{vantage="tokyo"\\}'), 1);
  assert.equal(value('degraded_probers\\{vantage="tokyo"\\}'), 0);
  assert.ok(value('oldest_result_seconds\\{vantage="tokyo"\\}') < 60);
  assert.ok(value('oldest_result_intervals\\{vantage="tokyo"\\}') < 1);
  assert.equal(value('flapping_monitors'), 0);
});
