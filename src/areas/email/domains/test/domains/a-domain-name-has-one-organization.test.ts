import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../../kernel/db/index.ts';
import { verifiedDomain, withDns } from './published.ts';

test('a domain name has one organization', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const other = await qd.organization('other');
  const { owner } = qd;
  const create = async (who: typeof owner, name: string) => {
    const { status, body } = await who.post('/email/domains', { name });
    return status === 201 ? 201 : `${status} ${body.error}`;
  };
  assert.equal(await create(owner, 'bücher.example'), 201);
  assert.match(String(await create(owner, 'XN--BCHER-KVA.example.')), /^409 .*registered already/);
  assert.match(String(await create(other, 'bücher.example')), /^409 .*another organization/);
  assert.match(String(await create(other, 'nonsense')), /^400 .*single label/);

  await verifiedDomain(qd, dns, owner, 'example.com');
  assert.match(
    String(await create(other, 'mail.example.com')),
    /^409 example.com, which is above mail.example.com, is verified by another/,
  );
  assert.equal(await create(owner, 'mail.example.com'), 201, 'what is below one’s own');
  assert.equal(await create(other, 'notexample.com'), 201, 'a name that only ends alike');
  await verifiedDomain(qd, dns, owner, 'deep.shop.example.net');
  assert.match(String(await create(other, 'example.net')), /^409 deep.shop.example.net, which is below/);

  assert.equal(await create(owner, 'co.uk'), 201);
  assert.equal(await create(other, 'acme.co.uk'), 201, 'an unverified parent name blocks no other organization');
  const { body } = await owner.get('/email/domains');
  const mine = body.domains.find((d: { name: string }) => d.name === 'example.com');
  assert.equal((await owner.delete(`/email/domains/${mine.id}`)).status, 204);
  assert.equal(await create(other, 'example.com'), 201, 'a deleted one is free');
});

test('one of two concurrent claims of a name wins, and an organization has at most a hundred', async (t) => {
  const { qd } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const other = await qd.organization('other');
  const [a, b] = await Promise.all([qd.owner, other].map((who) => who.post('/email/domains', { name: 'example.com' })));
  assert.deepEqual([a!.status, b!.status].sort(), [201, 409]);

  await qd.app.db.write(
    (tx) => run(tx)`
      insert into email.domain (org_id, id, name, send_state, receive_state, created_at, rsa_selector, rsa_public, rsa_private,
                                ed_selector, ed_public, ed_private, next_check_at, state_at)
      select ${qd.owner.orgId}, 'dom_' || n, n || '.example.net', 'pending', 'none', kernel.now(), 'r', '', '', 'e', '', '', kernel.now() + interval '1 day', kernel.now()
        from generate_series(1, ${a!.status === 201 ? 98 : 99}) n`,
  );
  const both = await Promise.all(['x.example.org', 'y.example.org'].map((name) => qd.owner.post('/email/domains', { name })));
  assert.deepEqual(both.map(({ status }) => status).sort(), [201, 403]);
  const refused = both.find(({ status }) => status === 403)!;
  assert.match(refused.body.error, /has 100 domains, as many as it may/);
});

test('a repeated request with the same key makes one domain', async (t) => {
  const { qd } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const again = () => qd.owner.request('POST', '/email/domains', { name: 'example.com' }, { 'idempotency-key': 'once' });
  const [first, second] = [await again(), await again()];
  assert.deepEqual([first.status, second.status], [201, 201]);
  assert.equal(first.body.id, second.body.id);
});

test('a failed claim yields once its checks have stopped', async (t) => {
  const { qd } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const other = await qd.organization('other');
  const claim = (who: typeof other) => who.post('/email/domains', { name: 'example.com' });
  const squatted = (await claim(other)).body;
  for (const days of ['4d', '12d']) {
    assert.equal((await claim(qd.owner)).status, 409);
    await qd.clock.advance(days);
    await qd.perform({ name: 'email.check-domains' });
  }
  assert.equal((await claim(qd.owner)).status, 201);
  assert.equal((await other.get(`/email/domains/${squatted.id}`)).status, 404);
  const { body } = await other.get('/organization/audit');
  assert.ok(
    body.entries.some(
      (entry: { action: string; target: string }) => entry.action === 'email.domain.release' && entry.target === squatted.id,
    ),
  );
});
