import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { covered, detail, eventually, made, mails, once, overdue, user, type Ward, ward } from '../support.ts';

const calm = (qd: Ward) => eventually(async () => (await overdue(qd)) === 0);

async function acknowledged(qd: Ward, remindAfterSeconds: number) {
  const { owner, smtp } = qd;
  const ada = await qd.member(owner, 'admin', 'ada@example.com');
  const { service, policy } = await covered(owner, { steps: [[user(owner), 60]] });
  const changed = await made(owner.patch(`/oncall/escalation-policies/${policy.id}`, { remindAfterSeconds }));
  assert.equal(changed.remindAfterSeconds, remindAfterSeconds);
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, owner.email, 1);
  await made(ada.post(`/oncall/incidents/${id}/ack`));
  return { id, ada };
}

test('the acknowledger is reminded at the policy’s interval until the incident is resolved', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { id } = await acknowledged(qd, 3600);
  await qd.clock.advance('3500s');
  await calm(qd);
  assert.equal(smtp.received.length, 1, 'not before its time');
  await qd.clock.advance('101s');
  const [mail] = await mails(smtp, 'ada@example.com', 1);
  assert.match(mail!.data.replaceAll('=\r\n', ''), /acknowledged at .* and not resolved yet/);
  await once(owner, id, (i) => i.timeline.some((e: { kind: string }) => e.kind === 'acknowledger_told'));
  await qd.clock.advance('3601s');
  await mails(smtp, 'ada@example.com', 2);
  await made(owner.post(`/oncall/incidents/${id}/resolve`));
  await qd.clock.advance('2h');
  await calm(qd);
  assert.equal(smtp.received.length, 3);
});

test('an acknowledger who cannot be reached any more restarts the escalation', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { id, ada } = await acknowledged(qd, 3600);
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
      values (${owner.orgId}, ${ada.userId}, '+33612345678', '[{"channel":"sms","delaySeconds":0},{"channel":"voice","delaySeconds":60}]', kernel.now())`,
  );
  await qd.clock.advance('3601s');
  await mails(smtp, owner.email, 2);
  const again = await detail(owner, id);
  assert.equal(again.status, 'open');
  assert.match(
    again.timeline.find((e: { kind: string }) => e.kind === 'walk_restarted').message,
    /cannot be reached; the policy policy is walked again/,
  );
  assert.equal(again.pages.filter((p: { state: string }) => p.state === 'failed').length, 2, 'both ways were tried');
});

test('without the setting there is no reminder, and one that is too short is refused', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  await acknowledged(qd, 0);
  await qd.clock.advance('700h');
  await calm(qd);
  assert.equal(smtp.received.length, 1);
  const [policy] = (await made(owner.get('/oncall/escalation-policies'))).policies;
  const refused = await owner.patch(`/oncall/escalation-policies/${policy.id}`, { remindAfterSeconds: 5 });
  assert.deepEqual([refused.status, refused.body.error], [400, 'remindAfterSeconds must be 0 (never) or at least 300']);
});
