import assert from 'node:assert/strict';
import { test } from 'node:test';
import { currentContext } from '../../../../kernel/fairness/index.ts';
import { openStatus } from '../../open.ts';
import { house, page, read, service } from '../support.ts';

test('the first read of a page is charged to the client, and later reads to its organization', async (t) => {
  const { owner, url, app, own } = await house(t, { env: { QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1' } });
  await own({ name: 'status', open: openStatus }).pageCache.warm(); // what the server reads by itself comes before there is a page
  await page(owner, 'acme', [(await service(owner, 'Web')).id]);
  const whose: string[] = [];
  const { read: plainly } = app.db;
  app.db.read = (work) => {
    const { operation: act, org } = currentContext();
    if (act === 'status page') whose.push(org);
    return plainly(work);
  };
  t.after(() => (app.db.read = plainly));
  const ask = async (slug: string, address: string) => (await read(`${url}/status/${slug}`, { 'x-forwarded-for': address })).status;

  // A client that makes slugs up waits behind itself: each client has its own connections and queue.
  assert.deepEqual(
    [await ask('made-up', '192.0.2.1'), await ask('made-up-too', '192.0.2.1'), await ask('acme', '192.0.2.2')],
    [404, 404, 200],
  );
  app.caches.dropAll();
  assert.equal(await ask('acme', '192.0.2.1'), 200);
  assert.deepEqual(whose.slice(0, 4), ['from 192.0.2.1', 'from 192.0.2.1', 'from 192.0.2.2', owner.orgId]);
});
