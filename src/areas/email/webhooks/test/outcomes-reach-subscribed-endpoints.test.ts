import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Caller } from '../../../../../test/harness/index.ts';
import { letter, mailScene, untilState } from '../../test/mail-scene.ts';
import { deliveriesOf, endpointAt, isSigned, listening, untilDelivery } from './listening.ts';

test('outcomes reach subscribed endpoints, signed and once', async (t) => {
  const { qd, key } = await mailScene(t, {
    at: (stage, line) => (stage === 'rcpt' && /nobody@/.test(line) ? '550 5.1.1 no such user' : undefined),
  });
  const endpoint = await listening(t);
  const { id: endpointId, secret } = await endpointAt(
    qd.owner,
    endpoint.url,
    'email.sent',
    'email.delivered',
    'email.bounced',
    'suppression.created',
    'email.suppressed',
  );
  const other = await listening(t);
  await endpointAt(await qd.organization('others'), other.url, 'email.delivered');

  const { body } = await key.post('/email/send', letter({ tags: { order: '7' } }));
  await untilState(qd, body.id, 'delivered');
  const [sent, delivered] = await endpoint.heard(2);
  assert.deepEqual([sent!.event.type, delivered!.event.type].sort(), ['email.delivered', 'email.sent']);
  const told = sent!.event.type === 'email.delivered' ? sent! : delivered!;
  assert.equal(told.path, 'POST /hook');
  assert.match(told.id, /^evt_/);
  assert.ok(isSigned(told, secret));
  assert.ok(!isSigned({ ...told, body: `${told.body} ` }, secret));
  assert.ok(Math.abs(Number(told.timestamp) - Date.now() / 1000) < 60);
  const { timestamp, data } = told.event;
  assert.ok(!Number.isNaN(Date.parse(timestamp)));
  assert.deepEqual(data, {
    messageId: body.id,
    domainId: key.domainId,
    direction: 'send',
    from: 'Ada <ada@example.com>',
    to: ['bob@far.example'],
    subject: 'Hello',
    tags: { order: '7' },
    state: 'delivered',
    recipient: 'bob@far.example',
    attempt: 1,
  });

  const { body: second } = await key.post('/email/send', letter({ to: ['nobody@far.example'] }));
  await untilState(qd, second.id, 'bounced');
  const bounced = (await endpoint.heard(4)).slice(2);
  assert.deepEqual(bounced.map(({ event }) => event.type).sort(), ['email.bounced', 'suppression.created']);
  const { bounce } = bounced.find(({ event }) => event.type === 'email.bounced')!.event.data;
  assert.equal(bounce.type, 'hard');
  assert.equal(bounce.enhancedCode, '5.1.1');
  assert.equal(bounce.remoteMta, 'mx.far.example');
  const { suppression } = bounced.find(({ event }) => event.type === 'suppression.created')!.event.data;
  assert.deepEqual([suppression.address, suppression.reason], ['nobody@far.example', 'bounce']);

  const { body: third } = await key.post('/email/send', letter({ to: ['nobody@far.example'] }));
  const suppressed = (await endpoint.heard(5))[4]!;
  assert.deepEqual([suppressed.event.type, suppressed.event.data.messageId], ['email.suppressed', third.id]);

  await untilDelivery(qd.owner, (d) => d.state === 'delivered');
  assert.equal(new Set(endpoint.told.map(({ id }) => id)).size, 5);
  const all = await deliveriesOf(qd.owner, `?endpointId=${endpointId}`);
  assert.equal(all.length, 5);
  const [last] = await deliveriesOf(qd.owner, `?messageId=${third.id}`);
  assert.equal(last!.state, 'delivered');
  assert.deepEqual([last!.attempts, last!.lastStatus, last!.eventType], [1, 204, 'email.suppressed']);
  assert.ok(last!.deliveredAt);
  assert.equal(other.told.length, 0);

  const { body: detail } = await qd.owner.get(`/email/webhook-deliveries/${last!.id}`);
  const sameEvent = endpoint.told.find(({ id }) => id === detail.webhookId)!;
  assert.deepEqual([detail.payload, detail.delivery], [sameEvent.body, last], 'the bytes of every attempt');
  const role = (await qd.owner.post('/iam/roles', { name: 'hooks', permissions: ['email.webhook.read'] })).body;
  const watcher = await qd.member(qd.owner, 'member');
  await qd.owner.post('/iam/grants', { subject: watcher.userId, role: role.id });
  const told2 = (await watcher.get(`/email/webhook-deliveries/${last!.id}`)).body;
  assert.deepEqual([told2.delivery.id, 'payload' in told2], [last!.id, false], 'who may not read the message reads none of it here');
  const ofSuppression = all.find(({ eventType }) => eventType === 'suppression.created')!;
  const payloadFor = async (who: Caller) => 'payload' in (await who.get(`/email/webhook-deliveries/${ofSuppression.id}`)).body;
  assert.deepEqual(
    [await payloadFor(watcher), await payloadFor(qd.owner)],
    [false, true],
    'an address that is suppressed is shown with the right to read the list alone',
  );
  assert.equal((await qd.owner.get('/email/webhook-deliveries/999999')).status, 404);
});
