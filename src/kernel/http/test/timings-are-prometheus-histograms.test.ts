import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Histogram, Registry } from 'prom-client';
import { makeTimings } from '../timings.ts';

const options = { name: 'seconds', help: 'How long it took', buckets: [0.001, 0.02, 0.5] };

test('timings are told letter by letter as prom-client tells its own histogram', async () => {
  const [ours, theirs] = [new Registry(), new Registry()];
  const timings = makeTimings({ ...options, labelNames: ['operation', 'status'], registry: ours });
  const histogram = new Histogram({ ...options, labelNames: ['operation', 'status'], registers: [theirs] });
  const taken = [0, 0.001, 0.0011, 0.02, 0.3, 0.5, 0.51, 60];
  for (const [operation, status] of [['listTokens', '2xx'] as const, ['listTokens', '4xx'] as const, ['a "quoted" one', '2xx'] as const]) {
    const observe = timings.series({ operation, status });
    for (const seconds of taken) {
      observe(seconds);
      histogram.observe({ operation, status }, seconds);
    }
  }
  timings.series({ operation: 'listTokens', status: '2xx' })(1); // the same series, asked for again
  histogram.observe({ operation: 'listTokens', status: '2xx' }, 1);
  assert.equal(await ours.metrics(), await theirs.metrics());
});
