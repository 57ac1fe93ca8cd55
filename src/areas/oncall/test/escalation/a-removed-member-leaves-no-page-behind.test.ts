import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { run } from '../../../../kernel/db/index.ts';
import { openIncident } from '../../engine/open-incident.ts';
import { covered, detail, eventually, made, mails, once, overdue, user, type Ward, ward } from '../support.ts';

const calm = (qd: Ward) => eventually(async () => (await overdue(qd)) === 0);
const kinds = (incident: { timeline: { kind: string }[] }, kind: string) => incident.timeline.filter((e) => e.kind === kind).length;

test('pages of earlier steps to a removed member are canceled too', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const ada = await qd.member(owner, 'admin', 'ada@example.com');
  const rules = [0, 1800].map((delaySeconds) => ({ channel: 'email', delaySeconds }));
  await made(ada.put('/oncall/me/settings', { rules }));
  const { service } = await covered(owner, {
    steps: [
      [user(ada), 300],
      [user(owner), 86_400],
    ],
  });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, ada.email, 1);
  await qd.clock.advance('301s');
  await mails(smtp, owner.email, 1);
  await made(owner.delete(`/organization/members/${ada.userId}`));
  const found = await detail(owner, id);
  assert.deepEqual(found.pages.map((p: { state: string }) => p.state).sort(), ['canceled', 'sent', 'sent']);
  assert.equal(kinds(found, 'page_canceled'), 1);
});

test('an incident whose step has reached another person is unchanged', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const [ada, bob] = [await qd.member(owner, 'admin', 'ada@example.com'), await qd.member(owner, 'admin', 'bob@example.com')];
  const schedule = await made(
    owner.post('/oncall/schedules', {
      name: 'night',
      timezone: 'UTC',
      participants: [ada, bob].map(({ userId }) => ({ userId, label: '' })),
      handoff: { interval: 'weekly', dow: 1, time: '09:00' },
    }),
  );
  await qd.app.db.write(
    (tx) => run(tx)`
      insert into oncall.paging_settings (org_id, user_id, phone, rules, updated_at)
      values (${owner.orgId}, ${ada.userId}, '+33612345678', '[{"channel":"sms","delaySeconds":0}]', kernel.now())`,
  );
  const { service } = await covered(owner, {
    steps: [
      [{ kind: 'schedule', id: schedule.id, label: '' }, 3600],
      [user(owner), 3600],
    ],
  });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, bob.email, 1);
  await once(owner, id, (i) => i.pages.some((p: { state: string }) => p.state === 'sent'));
  await made(owner.delete(`/organization/members/${ada.userId}`));
  await calm(qd);
  const found = await detail(owner, id);
  assert.equal(kinds(found, 'responder_left'), 0);
  assert.equal(found.escalation.step, 0);
  assert.deepEqual(
    smtp.received.map((m) => m.to[0]),
    [bob.email],
  );
});

test('an incident that opens for a member during removal goes to the next person', async (t) => {
  const qd = await ward(t);
  const { app, owner, smtp } = qd;
  const ada = await qd.member(owner, 'admin', 'ada@example.com');
  const { service } = await covered(owner, {
    steps: [
      [user(ada), 86_400],
      [user(owner), 86_400],
    ],
  });
  const opening = { serviceId: service.id, serviceName: service.name, title: 'down', description: undefined, origin: 'manual' as const };
  const actor = { kind: 'user', label: 'test' };
  const removing: Promise<unknown>[] = [];
  const { id } = await app.db.write(async (tx) => {
    const opened = await openIncident(tx, owner.orgId, { ...opening, actor, requestId: undefined });
    removing.push(made(owner.delete(`/organization/members/${ada.userId}`)));
    await sleep(300); // a large delivery goes on for as long
    return opened;
  });
  await Promise.all(removing);
  await mails(smtp, owner.email, 1);
  await calm(qd);
  const { pages } = await detail(owner, id);
  assert.deepEqual(
    pages.filter((p: { userId: string }) => p.userId === owner.userId).map((p: { state: string }) => p.state),
    ['sent'],
  );
});
