import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { mailScene } from '../../../email/test/mail-scene.ts';
import { sendingKey } from '../../../email/test/sending-key.ts';
import { detail, open, phoneWard } from '../phone-support.ts';
import { covered, eventually, made, once, user } from '../support.ts';

test('a page by the product’s own mail, before its sender’s domain is verified, goes out once it is', async (t) => {
  const { qd, sink } = await mailScene(t, {}, { env: { QUARTERDECK_MAIL_FROM: 'Quarterdeck <pages@pages.example>' } });
  const bob = await qd.member(qd.owner, 'member', 'bob@far.example');
  const ada = await qd.member(qd.owner, 'member', 'ada@far.example');
  const { service } = await covered(qd.owner, {
    steps: [
      [user(bob, 'Bob'), 3600],
      [user(ada, 'Ada'), 3600],
    ],
  });
  const { id } = await made(qd.owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  // An unsent mail delays no step: both steps have fired.
  const waiting = await once(qd.owner, id, (i) => i.pages.length === 2 && i.pages.every((p: { error?: string }) => p.error));
  assert.deepEqual(
    waiting.pages.map((p: { state: string }) => p.state),
    ['queued', 'queued'],
  );

  await sendingKey(qd, qd.owner, 'pages.example');
  await qd.clock.advance('61s');
  await sink.received(2);
  const { pages } = await once(qd.owner, id, (i) => i.pages.every((p: { state: string }) => p.state === 'sent'));
  assert.equal(pages.length, 2);
});

test('a page made a moment after the domain was verified does not wait for the next look', async (t) => {
  const { qd, sink } = await mailScene(t, {}, { env: { QUARTERDECK_MAIL_FROM: 'Quarterdeck <pages@example.com>' } });
  const bob = await qd.member(qd.owner, 'member', 'bob@far.example');
  const { service } = await covered(qd.owner, { steps: [[user(bob), 3600]] });
  const { id } = await made(qd.owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  const found = await once(qd.owner, id, (i) => i.pages[0]?.state === 'sent');
  assert.equal(found.pages[0].attempts, 1);
  await sink.received(1);
});

test('a page that a refused or a suspended account keeps back is passed over at once, and goes out once that is mended', async (t) => {
  const qd = await phoneWard(t, [
    { channel: 'sms', delaySeconds: 0 },
    { channel: 'email', delaySeconds: 3600 },
  ]);
  const refusals = [
    { status: 401, code: 20003, message: 'Authenticate' },
    { status: 403, code: 20005, message: 'Account not active' },
  ];
  for (const refusal of refusals) {
    qd.twilio.fail(/Messages\.json/, refusal);
    const { id } = await open(qd);
    const stuck = await eventually(async () => {
      const found = await detail(qd, id);
      return found.pages.find((p: { channel: string; state: string }) => p.channel === 'email' && p.state === 'sent') && found;
    });
    const sms = stuck.pages.find((p: { channel: string }) => p.channel === 'sms');
    assert.equal(sms.state, 'queued', sms.error);
    assert.match(
      stuck.timeline.find((e: { kind: string }) => e.kind === 'page_delayed').message,
      /it is tried again at least once a minute; the next rule fires now$/,
    );
    await qd.clock.advance('61s');
    await eventually(async () => {
      const { pages } = await detail(qd, id);
      return pages.find((p: { channel: string; state: string }) => p.channel === 'sms')?.state === 'sent';
    });
    await made(qd.owner.post(`/oncall/incidents/${id}/resolve`));
    await qd.app.db.write((tx) => run(tx)`update oncall.page set due_at = due_at - interval '1 hour'`);
  }
});
