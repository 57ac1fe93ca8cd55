import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Caller, quarterdeck } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';
import { made, service } from '../../oncall/test/support.ts';

const search = async (by: Caller, q: string, more = '') => made(by.get(`/search?q=${encodeURIComponent(q)}${more}`));
const shown = (answer: { items: Record<string, string>[] }) => answer.items.map(({ kind, name }) => `${kind} ${name}`);

test('things are found by name and by the beginning of their id, the best match first', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const add = (name: string) => made(owner.post('/oncall/services', { name })) as Promise<{ id: string }>;
  const [shop] = [await add('Shop'), await add('The shop of Ångström'), await add('shopping list'), await add('bakery')];
  const incident = await made(owner.post('/oncall/incidents', { serviceId: shop.id, title: 'checkout of the shop is slow' }));
  await made(owner.post('/registry/registries', { slug: 'pictures', displayName: 'Shop pictures' }));
  const page = await made(owner.post('/status-pages', { slug: 'shop-status', title: 'Status', serviceIds: [shop.id] }));

  const found = await search(owner, '  SHOP ');
  assert.deepEqual(
    shown(found),
    [
      'service Shop',
      'service shopping list',
      'statusPage shop-status',
      'registry pictures',
      'service The shop of Ångström',
      'incident checkout of the shop is slow',
    ],
    'itself, what begins with it, what holds it; whatever the case',
  );
  assert.deepEqual(
    { partial: found.partial, of: found.partialOf, unavailable: found.unavailable },
    { partial: false, of: [], unavailable: [] },
  );
  assert.deepEqual(shown(await search(owner, 'ÅNGSTRÖM')), ['service The shop of Ångström']);
  assert.deepEqual(shown(await search(owner, incident.id)), ['incident checkout of the shop is slow']);
  assert.deepEqual(shown(await search(owner, incident.id.slice(0, -4).toLowerCase())), ['incident checkout of the shop is slow']);
  assert.deepEqual(shown(await search(owner, 'built-in nonsense')), []);
  assert.deepEqual((await search(owner, 'shop-status')).items[0].id, page.slug, 'a status page is addressed by its slug');

  const first = await search(owner, 'shop', '&limit=2');
  assert.deepEqual(shown(first), ['service Shop', 'service shopping list']);
  assert.equal(first.partial, true, 'there are more than were asked for');
});

test('a text is compared and never read as a pattern', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const other = await qd.organization('neighbour');
  await service(owner);
  await made(other.post('/oncall/services', { name: 'wide 語 of a neighbour' }));
  const odd = ['100 % sure', 'snake_case', 'back\\slash', "quo'te", '語'.repeat(100)];
  for (const name of odd) await made(owner.post('/oncall/services', { name }));

  const services = async (q: string) =>
    (await search(owner, q)).items.filter(({ kind }: { kind: string }) => kind === 'service').map(({ name }: { name: string }) => name);
  assert.deepEqual(await services('%'), ['100 % sure']);
  assert.deepEqual(await services('_'), ['snake_case']);
  assert.deepEqual(await services('\\'), ['back\\slash']);
  assert.deepEqual(await services("'"), ["quo'te"]);
  assert.deepEqual(await services('語'.repeat(100)), ['語'.repeat(100)]);
  assert.deepEqual(await services('語'), ['語'.repeat(100)], 'none of the neighbour’s');
  for (const q of ['', '   ', '語'.repeat(101), 'nul\0byte'])
    assert.equal((await owner.get(`/search?q=${encodeURIComponent(q)}`)).status, 400, JSON.stringify(q));
  assert.equal((await owner.get('/search?q=a&limit=101')).status, 400);
  assert.equal((await owner.get('/search')).status, 400);
});

test('among very many things the newest are looked at, the rest is found by how its name begins, and the answer says so', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into services.service (org_id, id, name, created_at)
      select ${owner.orgId}, 'svc_' || lpad(n::text, 26, '0'), case n when 1 then 'oldest of all' else 'thing ' || n end, kernel.now()
        from generate_series(1, 10002) n`,
  );
  const begins = await search(owner, 'oldest');
  assert.deepEqual(shown(begins), ['service oldest of all']);
  assert.deepEqual({ partial: begins.partial, of: begins.partialOf }, { partial: true, of: ['service'] });
  assert.deepEqual(shown(await search(owner, 'of all')), [], 'not among the newest, and its name begins otherwise');
  assert.deepEqual(shown(await search(owner, 'ing 10002')), ['service thing 10002']);
});
