import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeHistoryPageSender } from '../../planes/public/history-pages.ts';
import { makeLastRead } from '../../planes/public/last-read.ts';
import { makePageCache } from '../../planes/public/page-cache.ts';
import { eventually, house, incident, page, publish, service } from '../support.ts';

test('however much an organization has to tell, another’s page is kept, and shown while the database is away', async (t) => {
  const { owner, app, organization } = await house(t);
  const other = await organization('other');
  const [web, shop] = [await service(owner, 'Web'), await service(other, 'Shop')];
  await page(other, 'shop', [shop.id]);
  const long = await incident(owner, web.id, 'Long');
  for (let n = 0; n < 9; n++) await publish(owner, long, 'x'.repeat(9_990) + n);
  const slugs = Array.from({ length: 100 }, (_, n) => `acme-${n}`);
  for (const slug of slugs) await page(owner, slug, [web.id]);

  const memory = makePageCache(app);
  t.after(() => memory.stop());
  await eventually(async () => {
    await memory.find('shop');
    return memory.peek('shop') !== undefined;
  });
  for (const slug of slugs) await memory.find(slug);
  assert.ok(memory.peek('shop'), 'still known to hold');

  const { read } = app.db;
  t.after(() => (app.db.read = read));
  app.db.read = async () => {
    throw new Error('away');
  };
  assert.equal((await memory.find('shop')).is, 'page');
  app.caches.dropAll();
  assert.equal((await memory.find('shop')).is, 'page', 'with its age');
});

test('the cache is shared: a quarter for one organization, equal parts when many fill it', () => {
  const last = makeLastRead<{ slug: string; page: { org: string }; bytes: number }>({
    pages: 1_000,
    bytes: 1_000,
    bytesOf: (k) => k.bytes,
  });
  const put = (org: string, n: number, bytes = 10) => last.set(`${org}-${n}`, { slug: `${org}-${n}`, page: { org }, bytes });
  put('b', 0);
  for (let n = 0; n < 200; n++) put('a', n);
  const kept = Array.from({ length: 200 }, (_, n) => n).filter((n) => last.get(`a-${n}`));
  assert.deepEqual(
    kept,
    Array.from({ length: 25 }, (_, n) => 175 + n),
    'the newest of its own',
  );
  assert.ok(last.get('b-0'));
  assert.deepEqual([last.isFull('a'), last.isFull('b')], [true, false]);
  put('a', 199, 20);
  last.delete('a-198');
  assert.ok(!last.get('a-175') && last.get('a-176'), 'what is set again weighs what it weighs now');
  for (let n = 0; n < 4; n++) last.delete(`a-${180 + n}`);
  assert.equal(last.isFull('a'), false);
  for (const org of ['c', 'd', 'e', 'f']) for (let n = 0; n < 21; n++) put(org, n);
  assert.deepEqual([last.isFull('c'), last.isFull('b')], [true, false], 'all of it is nearly full, and one has more than its part');
});

test('history pages are cached for their organization', async (t) => {
  const { owner, app } = await house(t);
  const web = await service(owner, 'Web');
  await page(owner, 'acme', [web.id]);
  const memory = makePageCache(app);
  t.after(() => memory.stop());
  const shown = await memory.find('acme');
  assert.ok(shown.is === 'page');
  let tenant: string | undefined;
  const seen = new Error('seen');
  const make = () => ({
    peek: () => undefined,
    get: async (_: string, fill: () => Promise<{ tenant?: string } | undefined>) => {
      tenant = (await fill())?.tenant;
      throw seen;
    },
    onDrop: () => {},
  });
  const send = makeHistoryPageSender({ ...app, caches: { ...app.caches, make }, peers: { of: () => 'reader' } } as unknown as typeof app);
  const cursor = { openedAt: new Date(0).toISOString(), incidents: 0, updates: 0 };
  await assert.rejects(send(shown, { cursor, isAtRoot: false }, {} as never, {} as never), seen);
  assert.equal(tenant, owner.orgId);
});
