import assert from 'node:assert/strict';
import { test } from 'node:test';
import { configMap, embedded, openWatch } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';

test('a watch does not repeat changes up to the version that the client sent', async (t) => {
  const { call, port, ca, admin } = await embedded(t);
  // This watch starts the change feed, which then lags behind clients that write and then watch.
  openWatch(port, ca, admin, `${maps}?watch=1`);
  for (let round = 0; round < 20; round++) {
    const made = await Promise.all(Array.from({ length: 5 }, (_, n) => call('POST', maps, configMap(`m${round}-${n}`))));
    const version = Math.max(...made.map(({ body }) => Number(body.metadata.resourceVersion)));
    const [known, all] = [
      openWatch(port, ca, admin, `${maps}?watch=1&resourceVersion=${version}`),
      openWatch(port, ca, admin, `${maps}?watch=1`),
    ];
    await all.until((round + 1) * 5);
    await call('POST', '/api/v1/namespaces/kube-public/configmaps', configMap(`r${round}`));
    await call('DELETE', `${maps}/m${round}-0`);
    await call('POST', maps, configMap(`m${round}-0`));
    const [told] = [await known.until(2), await all.until((round + 1) * 5 + 2)];
    assert.deepEqual(
      told.map(({ type }) => type),
      ['DELETED', 'ADDED'],
    );
    assert.deepEqual(
      all.events.slice((round + 1) * 5).map(({ type }) => type),
      ['DELETED', 'ADDED'],
    );
    known.close();
    all.close();
  }
});
