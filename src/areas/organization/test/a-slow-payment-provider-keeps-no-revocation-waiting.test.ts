import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakePayment } from '../../../../test/fakes/payment.ts';
import { quarterdeck } from '../../../../test/harness/index.ts';

test('a slow payment provider keeps no revocation waiting, and what a removed member told it is put back', async (t) => {
  const payment = await fakePayment(t);
  const { owner, member } = await quarterdeck(t, { env: { QUARTERDECK_PAYMENT_URL: payment.url } });
  const admin = await member(owner, 'admin');
  const contacts = async () => (await owner.get('/organization/contacts')).body;
  const { billingEmail: stored } = await contacts();

  const provider = payment.hold();
  const change = admin.patch('/organization/contacts', { billingEmail: 'mine@example.com' });
  await provider.asked;
  assert.equal((await owner.delete(`/organization/members/${admin.userId}`)).status, 204);
  provider.release();

  assert.equal((await change).status, 401);
  assert.equal((await contacts()).billingEmail, stored);
  assert.equal(payment.billing.get('default'), stored);
});

test('a registry that waits for a slow provider keeps no revocation waiting, and is not made for a removed member', async (t) => {
  const payment = await fakePayment(t);
  const { owner, member } = await quarterdeck(t, { env: { QUARTERDECK_PAYMENT_URL: payment.url } });
  const admin = await member(owner, 'admin');
  const provider = payment.hold();
  const making = admin.post('/registry/registries', { slug: 'acme' });
  await provider.asked;
  assert.equal((await owner.delete(`/organization/members/${admin.userId}`)).status, 204);
  provider.release();
  assert.equal((await making).status, 401);
  assert.deepEqual((await owner.get('/registry/registries')).body.registries, []);
  assert.equal((await owner.post('/registry/registries', { slug: 'acme' })).status, 201);
  payment.inactive.add('default');
  assert.equal((await owner.post('/registry/registries', { slug: 'other' })).status, 402);
});

test('of two changes at once, the provider and the contacts keep the same one', async (t) => {
  const payment = await fakePayment(t);
  const { owner } = await quarterdeck(t, { env: { QUARTERDECK_PAYMENT_URL: payment.url } });
  const provider = payment.hold();
  const first = owner.patch('/organization/contacts', { billingEmail: 'first@example.com' });
  await provider.asked;
  payment.hold().release(); // later requests are answered at once
  assert.equal((await owner.patch('/organization/contacts', { billingEmail: 'second@example.com' })).status, 200);
  provider.release();

  // The first change was not stored when the second one was: it is told to the provider once more, and is the last.
  assert.equal((await first).body.billingEmail, 'first@example.com');
  assert.equal(payment.billing.get('default'), 'first@example.com');
  assert.equal((await owner.get('/organization/contacts')).body.billingEmail, 'first@example.com');
});
