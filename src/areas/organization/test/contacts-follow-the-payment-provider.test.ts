import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakePayment } from '../../../../test/fakes/payment.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { organization } from '../index.ts';

test('contacts start as the first owner’s address and change one by one', async (t) => {
  const { owner, member, app, own } = await quarterdeck(t, { env: { QUARTERDECK_OWNER_EMAIL: 'ada@example.com' } });
  const all = { billingEmail: 'ada@example.com', technicalEmail: 'ada@example.com', securityEmail: 'ada@example.com' };
  assert.deepEqual((await owner.get('/organization/contacts')).body, all);

  const changed = await owner.patch('/organization/contacts', { technicalEmail: '  ops@example.com ' });
  assert.equal(changed.status, 200);
  assert.deepEqual(changed.body, { ...all, technicalEmail: 'ops@example.com' });
  assert.deepEqual((await owner.patch('/organization/contacts', {})).body, changed.body);
  // Without a provider every billing address is as good as another, and everybody counts as paying.
  assert.equal((await owner.patch('/organization/contacts', { billingEmail: 'money@example.com' })).status, 200);
  assert.equal(await own(organization).payment.active(app.db, { id: owner.orgId, slug: owner.orgSlug }), true);

  const clerk = await member(owner, 'member');
  assert.equal((await clerk.get('/organization/contacts')).status, 200);
  const refused = await clerk.patch('/organization/contacts', { billingEmail: 'mine@example.com' });
  assert.equal(refused.status, 403);
  assert.match(refused.body.error, /organization\.contacts\.write/);
  for (const billingEmail of ['', 'nobody', 'a@b@c', null, `${'x'.repeat(250)}@example.com`]) {
    assert.equal((await owner.patch('/organization/contacts', { billingEmail })).status, 400, String(billingEmail));
  }
});

test('the provider has the last word on the billing address, and what it refuses changes nothing', async (t) => {
  const payment = await fakePayment(t);
  const { owner, app, own } = await quarterdeck(t, { env: { QUARTERDECK_PAYMENT_URL: payment.url } });
  const contacts = async () => (await owner.get('/organization/contacts')).body;
  const before = await contacts();
  const change = { billingEmail: 'money@example.com', technicalEmail: 'ops@example.com' };

  payment.taken.add('money@example.com');
  const collision = await owner.patch('/organization/contacts', change);
  assert.equal(collision.status, 409);
  assert.match(collision.body.error, /billingEmail already belongs to another customer of the payment provider; use another address/);
  assert.deepEqual(await contacts(), before);

  payment.taken.clear();
  for (const health of ['failing', 'gone'] as const) {
    payment.be(health);
    const outage = await owner.patch('/organization/contacts', change);
    assert.equal(outage.status, 502, health);
    assert.equal(outage.body.error, 'the payment provider is unreachable; try again in a moment');
    assert.deepEqual(await contacts(), before);
  }
  // Other addresses are none of its business.
  assert.equal((await owner.patch('/organization/contacts', { securityEmail: 'sec@example.com' })).status, 200);
  assert.equal(payment.billing.size, 0);

  payment.be('well');
  assert.equal((await owner.patch('/organization/contacts', change)).status, 200);
  assert.equal(payment.billing.get('default'), 'money@example.com');
  assert.deepEqual(await contacts(), { ...change, securityEmail: 'sec@example.com' });
  const audited = (await owner.get('/organization/audit')).body.entries.filter(
    (e: { action: string }) => e.action === 'organization.contacts.update',
  );
  assert.equal(audited.length, 2); // what was refused is not on record as done

  const org = { id: owner.orgId, slug: owner.orgSlug };
  const active = () => own(organization).payment.active(app.db, org);
  assert.equal(await active(), true);
  payment.inactive.add('default');
  assert.equal(await active(), false);
  for (const health of ['failing', 'gone', 'nonsense'] as const) {
    payment.be(health);
    await assert.rejects(active(), /the payment provider is unreachable/, health);
  }
});
