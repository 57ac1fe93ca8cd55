import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../src/kernel/db/index.ts';
import { caller, quarterdeck } from '../harness/index.ts';

const named = (key: string) => ({ 'idempotency-key': key });

test('an Idempotency-Key has one effect', async (t) => {
  const { organization, narrowed, member, anonymous, app, clock, url } = await quarterdeck(t);

  await t.test('the same request again gets the first answer, and has no effect', async () => {
    const owner = await organization('o0');
    const first = await owner.post('/uptime/services', { name: 'shop' }, named('a'));
    const again = await owner.post('/uptime/services', { name: 'shop' }, named('a'));
    assert.deepEqual([again.status, again.body, again.headers.get('location')], [201, first.body, first.headers.get('location')]);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
    assert.equal(first.headers.get('idempotency-replayed'), null);
    assert.equal((await owner.get('/uptime/services')).body.services.length, 1);

    const { entries } = (await owner.get('/organization/audit')).body as { entries: { action: string }[] };
    assert.equal(entries.filter((e) => e.action === 'services.service.create').length, 1);
  });

  await t.test('the same key with another body is refused', async () => {
    const owner = await organization('o1');
    await owner.post('/uptime/services', { name: 'shop' }, named('a'));
    const other = await owner.post('/uptime/services', { name: 'store' }, named('a'));
    assert.deepEqual([other.status, other.body], [409, { error: 'this Idempotency-Key was used before with another body; use a new key' }]);
    assert.equal(other.headers.get('x-error-code'), 'idempotency_mismatch');
  });

  await t.test('a key is bound to who asks and for what', async () => {
    const owner = await organization('o2');
    const shop = await owner.post('/uptime/services', { name: 'shop' }, named('a'));
    const another = await narrowed(owner, []);
    assert.equal((await another.post('/uptime/services', { name: 'shop' }, named('a'))).status, 409); // the name is taken: it ran
    const role = await owner.post('/iam/roles', { name: 'shop', permissions: ['uptime.service.read'] }, named('a'));
    assert.equal(role.status, 201);
    assert.notEqual(role.body.id, shop.body.id);
  });

  await t.test('an answer that carried a secret is not given twice, but what was made is named', async () => {
    const owner = await organization('o3');
    const token = await owner.post('/tokens', { name: 'x' }, named('a'));
    const again = await owner.post('/tokens', { name: 'x' }, named('a'));
    assert.deepEqual(
      [again.status, again.body],
      [409, { error: `this Idempotency-Key already made ${token.body.id}, whose secret is not shown again` }],
    );
    assert.equal(again.headers.get('x-error-code'), 'idempotency_secret');
    assert.equal((await owner.get('/tokens')).body.tokens.filter((x: { name: string }) => x.name === 'x').length, 1);

    const invitation = await owner.post('/organization/invitations', { email: 'guest@example.com' }, named('b'));
    const twice = await owner.post('/organization/invitations', { email: 'guest@example.com' }, named('b'));
    assert.match(twice.body.error, new RegExp(`already made ${invitation.body.invitation.id},`));
    const secret = invitation.body.link.split('/').pop();
    assert.equal((await anonymous.post('/organization/invitations/accept', { secret })).status, 201);

    const host = await organization('host');
    const { link } = (await host.post('/organization/invitations', { email: owner.email })).body;
    const accept = () => owner.post('/organization/invitations/accept', { secret: link.split('/').pop() }, named('c'));
    assert.equal((await accept()).status, 201);
    assert.match((await accept()).body.error, new RegExp(`already made ${owner.userId},`));
  });

  await t.test('of many at once with one key, one has the effect and all have its answer', async () => {
    const owner = await organization('o4');
    const answers = await Promise.all(Array.from({ length: 6 }, () => owner.post('/uptime/services', { name: 'shop' }, named('a'))));
    const { services } = (await owner.get('/uptime/services')).body as { services: { id: string }[] };
    assert.equal(services.length, 1);
    for (const { status, body } of answers) assert.deepEqual([status, body.id], [201, services[0]!.id]);
    assert.equal(answers.filter((a) => a.headers.get('idempotency-replayed') === null).length, 1);
  });

  await t.test('while the first still runs, the second is told so', async () => {
    const owner = await organization('o5');
    const held = Promise.withResolvers<void>();
    const taken = Promise.withResolvers<void>();
    // Somebody holds the organization: whoever is first waits for it inside its transaction, its key already taken.
    const holder = app.db.write(async (tx) => {
      await run(tx)`select 1 from identity.org where id = ${owner.orgId} for update`;
      taken.resolve();
      await held.promise;
    });
    await taken.promise;
    const both = [1, 2].map(() => owner.post('/organization/invitations', { email: 'a@example.com' }, named('a')));
    const told = await Promise.race(both);
    held.resolve();
    await holder;
    assert.deepEqual(
      [told.status, told.body],
      [409, { error: 'a request with this Idempotency-Key is still running; wait for its answer' }],
    );
    assert.deepEqual((await Promise.all(both)).map((a) => a.status).sort(), [201, 409]);
  });

  await t.test('failures are not kept: the same key may try again', async () => {
    const owner = await organization('o6');
    assert.equal((await owner.post('/uptime/services', { nmae: 'shop' }, named('a'))).status, 400);
    assert.equal((await owner.post('/uptime/services', { name: 'shop' }, named('a'))).status, 201);

    const plain = await member(owner, 'member');
    assert.equal((await plain.post('/uptime/services', { name: 'mine' }, named('b'))).status, 403);
    await owner.post('/iam/grants', { subject: plain.userId, role: 'uptime.editor' });
    assert.equal((await plain.post('/uptime/services', { name: 'mine' }, named('b'))).status, 201);

    assert.equal((await owner.post('/uptime/services', { name: 'mine' }, named('c'))).status, 409);
    const { services } = (await owner.get('/uptime/services')).body as { services: { id: string; name: string }[] };
    await owner.delete(`/uptime/services/${services.find((s) => s.name === 'mine')!.id}`);
    assert.equal((await owner.post('/uptime/services', { name: 'mine' }, named('c'))).status, 201);
  });

  await t.test('a key is forgotten after 24 hours', async () => {
    const owner = await organization('o7');
    const { key } = (await owner.post('/tokens', { name: 'lasting', expiresIn: 30 * 86_400 })).body as { key: string };
    const lasting = caller(url, key);
    const make = (name: string) => lasting.post('/uptime/services', { name }, named('a'));
    const first = await make('shop');
    await clock.advance('23h');
    assert.deepEqual((await make('shop')).body, first.body);
    await clock.advance('2h');
    const later = await make('store');
    assert.equal(later.status, 201);
    assert.notEqual(later.body.id, first.body.id);
  });
});
