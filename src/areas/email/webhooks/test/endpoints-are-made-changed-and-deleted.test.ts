import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { deliveriesOf, endpointAt, listening, ofLoopback, suppressAnAddress, untilDelivery } from './listening.ts';

test('endpoints are made, changed and deleted, and addresses that must not be called are refused', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'webhook=127.0.0.0/8' } });
  const { owner } = qd;
  const make = (url: string, eventTypes: unknown = ['email.bounced']) => owner.post('/email/webhooks', { url, eventTypes });
  const made = await make('https://hooks.example.com/mail');
  assert.equal(made.status, 201);
  assert.match(made.body.signingSecret, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.match(made.body.webhook.id, /^whk_/);
  assert.deepEqual((await owner.get('/email/webhooks')).body, { webhooks: [made.body.webhook] });

  for (const url of [
    'http://10.0.0.1/',
    'http://169.254.169.254/latest',
    'https://[::1]/',
    'ftp://example.com/',
    'http://0/',
    'not a url',
  ]) {
    assert.equal((await make(url)).status, 400, url);
    assert.equal((await owner.patch(`/email/webhooks/${made.body.webhook.id}`, { url })).status, 400, url);
  }
  assert.equal((await make('https://hooks.example.com/', ['email.opened'])).status, 400);
  assert.equal((await make('https://hooks.example.com/', [])).status, 400);

  const other = await qd.organization('others');
  for (const answer of [
    other.patch(`/email/webhooks/${made.body.webhook.id}`, { disabled: true }),
    other.post(`/email/webhooks/${made.body.webhook.id}/rotate-secret`),
    other.delete(`/email/webhooks/${made.body.webhook.id}`),
  ])
    assert.equal((await answer).status, 404);

  // What it hears follows each change.
  const endpoint = await listening(t);
  const moved = await owner.patch(`/email/webhooks/${made.body.webhook.id}`, { url: endpoint.url, eventTypes: ['suppression.created'] });
  assert.deepEqual([moved.body.url, moved.body.eventTypes], [endpoint.url, ['suppression.created']]);
  await suppressAnAddress(owner);
  await endpoint.heard(1);
  await untilDelivery(owner, (d) => d.state === 'delivered');

  endpoint.answer = (response) => response.writeHead(500).end();
  await suppressAnAddress(owner);
  await untilDelivery(owner, (d) => d.attempts === 1 && d.state === 'pending');
  assert.equal((await owner.delete(`/email/webhooks/${made.body.webhook.id}`)).status, 204);
  const failed = await untilDelivery(owner, (d) => d.state === 'failed');
  assert.equal(failed.lastError, 'the endpoint was deleted');
  assert.equal((await owner.post(`/email/webhook-deliveries/${failed.id}/redeliver`)).status, 404);
  assert.deepEqual((await owner.get('/email/webhooks')).body, { webhooks: [] });

  await qd.app.db.write(
    (tx) => run(tx)`insert into email.webhook (org_id, id, url, event_types, secret, created_at)
      select ${owner.orgId}, kernel.new_id('whk'), 'https://example.com/', '{email.sent}', '', kernel.now() from generate_series(1, 50)`,
  );
  const full = await make('https://hooks.example.com/mail');
  assert.equal(full.status, 403);
  assert.match(full.body.error, /50 webhook endpoints/);
});

test('deliveries are listed newest first, a hundred at once, by what they are about', async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const { owner } = qd;
  const endpoint = await listening(t);
  const { id } = await endpointAt(owner, endpoint.url, 'suppression.created');
  await qd.app.db.write(
    (tx) => run(tx)`insert into email.delivery (org_id, endpoint_id, event_id, event_type, message_id, state, created_at, done_at)
      select ${owner.orgId}, case when n % 2 = 0 then ${id} else 'whk_other' end, 'evt_' || n, 'email.sent', 'msg_' || n % 3, 'delivered', kernel.now(), kernel.now()
        from generate_series(1, 250) n order by n`,
  );
  const all = [];
  for (let cursor = ''; ; ) {
    const { body } = await owner.get(`/email/webhook-deliveries${cursor && `?cursor=${cursor}`}`);
    all.push(...body.deliveries);
    if (!body.cursor) break;
    assert.equal(body.deliveries.length, 100);
    cursor = body.cursor;
  }
  assert.equal(all.length, 250);
  assert.deepEqual(
    all.map((d) => d.id),
    all.map((d) => d.id).sort((a, b) => b - a),
  );
  assert.equal((await deliveriesOf(owner, `?endpointId=${id}&limit=1000`)).length, 125);
  assert.equal((await deliveriesOf(owner, '?messageId=msg_1&limit=1000')).length, 84);
  const { body: some } = await owner.get('/email/webhook-deliveries?messageId=msg_1&limit=10');
  assert.equal((await owner.get(`/email/webhook-deliveries?limit=10&cursor=${some.cursor}`)).status, 400, 'of other filters');
  assert.equal((await deliveriesOf(await qd.organization('others'))).length, 0);

  // Thirty days, and they are gone.
  await qd.clock.advance('31d');
  assert.equal((await deliveriesOf(owner)).length, 0);
  await qd.perform({ name: 'email.forget-old' });
  const left = await qd.app.db.read((tx) => run(tx)`select from email.delivery`);
  assert.equal(left, 0);
});
