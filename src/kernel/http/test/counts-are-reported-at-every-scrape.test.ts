import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Counter, Registry } from 'prom-client';
import { QuickCounter } from '../quick-counter.ts';

test('counts are reported as prom-client reports its own, each once, at every scrape', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const options = { name: 'answers_total', help: 'How many there were', labelNames: ['plane', 'status'] as const };
  const quick = new QuickCounter({ ...options, registers: [ours] });
  const plain = new Counter({ ...options, registers: [theirs] });
  quick.series('status', '5xx'); // nothing of it was counted, so nothing is reported
  for (let asked = 0; asked < 2; asked++) {
    for (const [plane, status, by] of [
      ['oci', '2xx', 1],
      ['oci', '4xx', 3],
      ['oci', '2xx', 10],
      ['a "quoted" one', '2xx', 1],
    ] as const) {
      quick.series(plane, status).count(by);
      plain.inc({ plane, status }, by);
    }
    assert.equal(await ours.metrics(), await theirs.metrics());
  }
});
