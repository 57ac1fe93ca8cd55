import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePrincipals } from '../../../../../identity/principal.ts';
import { run } from '../../../../../kernel/db/index.ts';
import { withDns } from '../../../domains/test/domains/published.ts';
import { email } from '../../../index.ts';
import { loadSendKey } from '../../engine/send-keys.ts';

const mail = new Set(['mail'] as const);

test('a send key works until it is revoked, everywhere at once', async (t) => {
  const { qd } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const { owner, app } = qd;
  const domain = (await owner.post('/email/domains', { name: 'example.com' })).body;
  const made = await owner.post('/email/keys', { name: 'shop', domainIds: [domain.id, domain.id] });
  assert.equal(made.status, 201);
  const { sendKey, secret } = made.body;
  assert.match(sendKey.keyId, /^esk_[0-9a-z]{16}$/);
  assert.match(secret, /^qd_mail_[0-9A-Za-z]{38}$/);
  assert.deepEqual([sendKey.name, sendKey.domainIds, sendKey.lastUsedAt], ['shop', [domain.id], undefined]);

  const principals = makePrincipals(app.db, app.caches, { mail: loadSendKey });
  const found = await principals.find(secret, mail);
  assert.deepEqual(
    [found?.id, found?.org.id, found?.access],
    [sendKey.id, owner.orgId, { keyId: sendKey.keyId, name: 'shop', domainIds: [domain.id] }],
  );
  assert.ok(found?.entitlements.has('email'));

  const own = qd.own(email);
  own.lastUsed.used(sendKey.id);
  await own.lastUsed.flush();
  const listed = (await owner.get('/email/keys')).body.sendKeys;
  assert.deepEqual([listed.length, typeof listed[0].lastUsedAt, 'secret' in listed[0]], [1, 'string', false]);
  await qd.clock.advance('30s');
  own.lastUsed.used(sendKey.id);
  await own.lastUsed.flush();
  assert.equal((await owner.get('/email/keys')).body.sendKeys[0].lastUsedAt, listed[0].lastUsedAt, 'written once a minute');

  assert.equal((await owner.delete(`/email/domains/${domain.id}`)).status, 204);
  assert.deepEqual((await owner.get('/email/keys')).body.sendKeys[0].domainIds, [domain.id], 'a dead id stays and matches nothing');
  const inUse = (await principals.find(secret, mail))!;
  assert.equal(inUse.signal.aborted, false);
  assert.equal((await owner.delete(`/email/keys/${sendKey.id}`)).status, 204);
  assert.equal(inUse.signal.aborted, true, 'sessions that lean on it end');
  assert.equal(await principals.find(secret, mail), undefined);
  assert.deepEqual((await owner.get('/email/keys')).body.sendKeys, []);
  assert.equal((await owner.delete(`/email/keys/${sendKey.id}`)).status, 404);
});

test('a key names domains of its organization, and there are a hundred keys', async (t) => {
  const { qd } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const { owner } = qd;
  const other = await qd.organization('other');
  const mine = (await owner.post('/email/domains', { name: 'example.com' })).body;
  const foreign = (await other.post('/email/domains', { name: 'example.net' })).body;
  for (const id of [foreign.id, 'dom_unknown']) {
    const refused = await owner.post('/email/keys', { name: 'shop', domainIds: [mine.id, id] });
    assert.deepEqual([refused.status, refused.body.error], [404, `unknown domain ${id} in domainIds`]);
  }
  assert.equal((await owner.post('/email/keys', { name: 'shop', domainIds: [] })).status, 400);
  await qd.app.db.write(
    (tx) => run(tx)`insert into email.send_key (org_id, id, name, key_id, hash, domain_ids, created_at)
      select ${owner.orgId}, 'esk_' || n, 'x', 'esk_' || n, sha256(n::text::bytea), '{}', kernel.now() from generate_series(1, 99) n`,
  );
  const both = await Promise.all([1, 2].map((n) => owner.post('/email/keys', { name: `last ${n}` })));
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 403]);
});
