import assert from 'node:assert/strict';
import { createPublicKey, sign, verify } from 'node:crypto';
import { test } from 'node:test';
import { makeDomainCache } from '../../../domains/engine/domain-cache.ts';
import { publish, withDns } from '../../../domains/test/domains/published.ts';

test('domain lookups are cached, and dropped when the domain changes', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const { owner, app } = qd;
  const { id, dnsRecords } = (await owner.post('/email/domains', { name: 'example.com' })).body;
  let asked = 0;
  const read: typeof app.db.read = (work) => {
    asked++;
    return app.db.read(work);
  };
  const db = { ...app.db, read };
  const book = makeDomainCache({ ...app, db });
  const find = (domainIds: string[] = [], name = 'example.com') => book.findSendable(owner.orgId, domainIds, name);

  assert.deepEqual(await find(), { id, name: 'example.com', send_state: 'pending' });
  for (let i = 0; i < 5; i++) await find([id]);
  assert.equal(asked, 1, 'asked for once');
  assert.equal(await find(['dom_other']), undefined, 'a key of another domain');
  assert.equal(await book.findSendable('org_other', [], 'example.com'), undefined);
  assert.equal(await find([], 'www.example.com'), undefined);

  publish(dns, dnsRecords);
  await qd.perform({ name: 'email.check-domains' });
  assert.equal((await find())?.send_state, 'verified');

  const keys = (await book.signingKeys(id))!;
  const before = asked;
  await book.signingKeys(id);
  assert.equal(asked, before, 'unsealed once');
  assert.equal(keys.domain, 'example.com');
  const published = (at: number) => /p=(.*)/.exec(dnsRecords[at].value)![1]!;
  const rsa = createPublicKey({ key: Buffer.from(published(0), 'base64'), format: 'der', type: 'spki' });
  assert.ok(verify('sha256', Buffer.from('x'), rsa, sign('sha256', Buffer.from('x'), keys.rsa.key)));
  const ed = createPublicKey({
    key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(published(1), 'base64').toString('base64url') },
    format: 'jwk',
  });
  assert.ok(verify(null, Buffer.from('x'), ed, sign(null, Buffer.from('x'), keys.ed.key)));
  assert.deepEqual(
    [keys.rsa.selector, keys.ed.selector],
    [0, 1].map((at) => dnsRecords[at].name.split('.')[0]),
  );

  await owner.delete(`/email/domains/${id}`);
  assert.equal(await find(), undefined);
  assert.equal(await book.signingKeys(id), undefined);
});
