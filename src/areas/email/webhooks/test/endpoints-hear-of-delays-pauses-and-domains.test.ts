import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operator } from '../../../../identity/audit.ts';
import { sql } from '../../../../kernel/sql.ts';
import { publish, withDns } from '../../domains/test/domains/published.ts';
import { posture } from '../../index.ts';
import { letter, mailScene, untilState } from '../../test/mail-scene.ts';
import { deliveriesOf, endpointAt, listening, ofLoopback } from './listening.ts';

test('a sender hears that mail is late at first, then at most every four hours, and that it failed', async (t) => {
  const { qd, key, sink } = await mailScene(t, { at: (stage) => (stage === 'rcpt' ? '452 4.2.2 mailbox full' : undefined) });
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'email.delivery_delayed', 'email.failed', 'email.bounced');
  const { body } = await key.post('/email/send', letter());
  const [first] = await endpoint.heard(1);
  assert.equal(first!.event.type, 'email.delivery_delayed');
  const { recipient, state, delay } = first!.event.data;
  assert.deepEqual([recipient, state, delay.attempt], ['bob@far.example', 'deferred', 1]);
  assert.match(delay.response, /mailbox full/);
  assert.ok(Date.parse(delay.nextAttemptAt) > Date.parse(first!.event.timestamp));

  const attempts = async () => {
    const { body: log } = await qd.owner.get(`/email/messages/${body.id}`);
    return log.message.stateAt as string;
  };
  for (const by of ['2m', '6m', '12m']) {
    const before = await attempts();
    await qd.clock.advance(by);
    while ((await attempts()) === before || (await untilState(qd, body.id, 'deferred', 'sending')).message.state === 'sending')
      await new Promise((next) => setTimeout(next, 25));
  }
  assert.equal((await deliveriesOf(qd.owner)).length, 1, 'nothing new within four hours');
  await qd.clock.advance('4h');
  await endpoint.heard(2);
  await qd.app.db.write((tx) => tx.query(sql`update email.recipient set tried_seconds = 72 * 3600`));
  await qd.clock.advance('5h');
  await untilState(qd, body.id, 'failed');
  const last = (await endpoint.heard(3))[2]!;
  assert.equal(last.event.type, 'email.failed');
  assert.match(last.event.data.reason, /mailbox full/);
  assert.equal(last.event.data.bounce.type, 'soft');
  assert.equal(sink.messages.length, 0);
});

test('endpoints hear of canceled mail, of suppressions, and of sending that is paused and resumed', async (t) => {
  const { qd, key } = await mailScene(t);
  const { owner } = qd;
  const endpoint = await listening(t);
  await endpointAt(owner, endpoint.url, 'email.failed', 'suppression.created', 'suppression.deleted', 'sending.paused', 'sending.resumed');
  const last = async (count: number) => (await endpoint.heard(count))[count - 1]!.event;

  const { body } = await key.post('/email/send', letter({ scheduledAt: new Date(Date.now() + 3_600_000).toISOString() }));
  await key.post(`/email/messages/${body.id}/cancel`);
  const canceled = await last(1);
  assert.deepEqual([canceled.type, canceled.data.recipient, canceled.data.state], ['email.failed', 'bob@far.example', 'failed']);
  assert.match(canceled.data.reason, /canceled/);

  const { body: made } = await owner.post('/email/suppressions', { address: 'Eve@far.example' });
  assert.deepEqual((await last(2)).data, { suppression: made });
  await owner.post('/email/suppressions', { address: 'eve@far.example' }); // it is there already
  await owner.delete(`/email/suppressions/${made.id}`);
  assert.deepEqual([(await last(3)).type, endpoint.told[2]!.event.data.suppression.id], ['suppression.deleted', made.id]);

  const act = (work: typeof posture.resumeSending) => qd.app.db.write((tx) => work(tx, operator(owner.orgId)));
  await act((tx, actor) => posture.pauseSending(tx, actor, 'too many complaints'));
  assert.deepEqual([(await last(4)).type, endpoint.told[3]!.event.data], ['sending.paused', { reason: 'too many complaints' }]);
  await act((tx, actor) => posture.pauseSending(tx, actor, 'again'));
  await act(posture.resumeSending);
  assert.equal((await last(5)).type, 'sending.resumed');
});

test('endpoints hear when a check changes what a domain may do', async (t) => {
  const { qd, dns } = await withDns(t, ofLoopback);
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'domain.updated');
  const { body } = await qd.owner.post('/email/domains', { name: 'example.com' });
  publish(dns, body.dnsRecords);
  await qd.clock.advance('16s');
  await qd.perform({ name: 'email.check-domains' });
  const [told] = await endpoint.heard(1);
  assert.deepEqual(told!.event.data, { domainId: body.id, name: 'example.com', sendState: 'verified', previousSendState: 'pending' });
});
