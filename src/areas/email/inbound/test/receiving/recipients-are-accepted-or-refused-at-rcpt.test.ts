import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../../kernel/db/index.ts';
import { untilState } from '../../../test/mail-scene.ts';
import { speakSmtp } from '../../../test/smtp-scene.ts';
import { endpointAt } from '../../../webhooks/test/listening.ts';
import { armedDomain, deliver, deliverTo, letterIn, mxScene, route } from './mx-scene.ts';

test('recipients are accepted at RCPT, and all others are refused with a reason', async (t) => {
  const { qd, port, endpointId } = await mxScene(t, { pattern: 'support' });
  const { owner, app } = qd;
  await route(owner, await armedDomain(qd, owner, 'star.example.com'), 'a*', endpointId);
  await owner.post('/email/domains', { name: 'unarmed.example.com' });
  const pending = (await owner.post('/email/domains', { name: 'pending.example.com' })).body.id;
  await owner.post(`/email/domains/${pending}/receive`);
  await route(owner, pending, '*', endpointId);
  const other = await qd.organization('other');
  const theirs = await endpointAt(other, 'http://127.0.0.1:9/hook', 'email.bounced');
  await route(other, await armedDomain(qd, other, 'other.example.com'), '*', theirs.id);

  const { say } = await speakSmtp(t, port);
  assert.match(await say('EHLO far.example'), /250-STARTTLS[\s\S]*250[ -]SIZE 26214400|250-SIZE 26214400/);
  assert.match(await say('RCPT TO:<support@in.example.com>'), /^503 /, 'MAIL comes first');
  assert.match(await say('AUTH PLAIN AGEAYg=='), /^50[02] /, 'there is no login at the MX');
  assert.match(await say('MAIL FROM:<>'), /^250 /, 'reports have an empty sender');
  const rcpt = (address: string) => say(`RCPT TO:<${address}>`);
  assert.match(await rcpt('support@in.example.com'), /^250 /);
  assert.match(await rcpt('SupporT@IN.example.COM'), /^250 /, 'letter case is nothing');
  assert.match(await rcpt('sales@in.example.com'), /^550 5\.1\.1 there is no such recipient/);
  assert.match(await rcpt('abc@star.example.com'), /^250 /);
  assert.match(await rcpt('b@star.example.com'), /^550 5\.1\.1/);
  for (const foreign of ['x@far.example', 'x@unarmed.example.com', 'x@below.in.example.com'])
    assert.match(await rcpt(foreign), /^550 5\.7\.1 we do not receive mail for this domain, and relay for nobody/, foreign);
  assert.match(await rcpt('x@pending.example.com'), /^450 4\.7\.1 the owner of this domain has not published/);
  assert.match(await rcpt('"a b"@in.example.com'), /^(?:501|553) /);
  assert.match(await rcpt('b+1.00000000000000000000@bounce.in.example.com'), /^550 5\.[17]\.1/, 'a return path cannot be forged');

  assert.match(await rcpt('x@other.example.com'), /^250 /);
  await app.db.write(async (tx) => {
    await run(tx)`update identity.org set entitlements = '{}' where id = ${other.orgId}`;
    await app.caches.drop(tx, `org ${other.orgId}`);
    await app.caches.drop(tx, '*');
  });
  assert.match(await rcpt('y@other.example.com'), /^550 5\.1\.1/, 'one that is not enabled is like none');
});

test('a route that is made or deleted counts from then on, in every server', async (t) => {
  const scene = await mxScene(t, { pattern: 'first' });
  const { qd, port, domainId, endpointId } = scene;
  assert.match(await deliverTo(t, port, { to: ['second@in.example.com'] }), /^550 5\.1\.1/);
  const made = await route(qd.owner, domainId, 'second', endpointId);
  assert.match(await deliverTo(t, port, { to: ['second@in.example.com'] }), /^250 /);
  await qd.owner.delete(`/email/routes/${made}`);
  assert.match(await deliverTo(t, port, { to: ['second@in.example.com'] }), /^550 5\.1\.1/);
  await qd.owner.delete(`/email/domains/${domainId}`);
  assert.match(await deliverTo(t, port, { to: ['first@in.example.com'] }), /^550 5\.7\.1/);
});

test('a message with several routes is one message per route, each with its own outcome', async (t) => {
  const { qd, port, domainId, endpoint } = await mxScene(t, { pattern: '*' });
  const broken = await endpointAt(qd.owner, 'http://127.0.0.1:9/hook', 'email.bounced');
  await route(qd.owner, domainId, 'sales', broken.id);
  await qd.owner.patch(`/email/webhooks/${broken.id}`, { disabled: true });
  const speaker = await speakSmtp(t, port);
  await speaker.say('EHLO far.example');
  const to = ['sales@in.example.com', 'a@in.example.com', 'b@in.example.com'];
  assert.match(await deliver(speaker, { to, message: letterIn() }), /^250 /);
  const [told] = await endpoint.heard(1);
  assert.deepEqual(
    told!.event.data.envelope.rcptTo,
    ['a@in.example.com', 'b@in.example.com'],
    'an endpoint does not see recipients of other routes',
  );
  const found = (await qd.owner.get('/email/messages?direction=receive')).body.messages as { id: string }[];
  assert.equal(found.length, 2);
  const failed = found.find(({ id }) => id !== told!.event.data.messageId)!;
  await untilState(qd, told!.event.data.messageId, 'delivered');
  assert.match((await untilState(qd, failed.id, 'failed')).message.lastError!, /the endpoint is disabled: by hand/);

  await qd.owner.patch(`/email/webhooks/${broken.id}`, { disabled: false, url: endpoint.url });
  const { body } = await qd.owner.get(`/email/webhook-deliveries?messageId=${failed.id}`);
  assert.equal((await qd.owner.post(`/email/webhook-deliveries/${body.deliveries[0].id}/redeliver`)).status, 202);
  const again = (await endpoint.heard(2))[1]!;
  assert.deepEqual(again.event.data.envelope.rcptTo, ['sales@in.example.com']);
  await untilState(qd, failed.id, 'delivered');
  assert.equal(again.event.data.messageId, failed.id);
});
