import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { failPage } from '../../engine/page.ts';
import { alert, covered, detail, eventually, group, made, mails, once, overdue, source, unresolved, user, ward } from '../support.ts';

type Page = { id: string; state: string };

test('when the newest notice was held back and those before it fail, the incident is open again', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const ada = await qd.member(owner, 'admin', 'ada@example.com');
  const { service } = await covered(owner, { steps: [[user(owner), 86_400]] });
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver(group([alert('a0')]));
  const [{ id }] = await unresolved(owner);
  await mails(smtp, owner.email, 1);
  await made(ada.post(`/oncall/incidents/${id}/ack`));
  const all = [alert('a0')];
  for (let i = 1; i <= 11; i++) {
    all.push(alert(`a${i}`));
    await deliver(group(all));
  }
  await mails(smtp, ada.email, 10);
  await once(owner, id, (i) => i.pages.every((p: Page) => p.state === 'sent'));
  smtp.behave({ RCPT: '550 5.1.1 no such user' });
  // Each comes back undelivered.
  const notices = (await detail(owner, id)).pages.slice(1);
  assert.equal(notices.length, 10, 'the eleventh was held back');
  await qd.app.db.write(async (tx) => {
    for (const page of notices) await failPage(tx, owner.orgId, page.id, 'it came back');
  });
  await once(owner, id, (i) => i.status === 'open');
});

test('when all pages of a step were held back and those before it fail, the next step comes at once', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const ada = await qd.member(owner, 'member', 'ada@example.com');
  await made(ada.put('/oncall/me/settings', { rules: Array.from({ length: 10 }, () => ({ channel: 'email', delaySeconds: 0 })) }));
  const { service } = await covered(owner, {
    steps: [
      [user(ada), 1],
      [user(ada), 86_400],
      [user(owner), 86_400],
    ],
  });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, ada.email, 10);
  await qd.clock.advance('2s');
  await once(owner, id, (i) => i.escalation.step === 1);
  await eventually(async () => (await overdue(qd)) === 0);
  const { pages } = await detail(owner, id);
  assert.equal(pages.length, 10, 'the second step made none');
  await qd.app.db.write(
    (tx) => run(tx)`update oncall.paging_settings set rules = '[{"channel":"sms","delaySeconds":0}]', phone = '+33612345678'`,
  );
  await qd.app.db.write(async (tx) => {
    for (const page of pages) await failPage(tx, owner.orgId, page.id, 'it came back');
  });
  await mails(smtp, owner.email, 1);
});
