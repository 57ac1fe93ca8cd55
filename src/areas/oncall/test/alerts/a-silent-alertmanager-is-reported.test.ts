import assert from 'node:assert/strict';
import { test } from 'node:test';
import { staleDeadline } from '../../rules/stale-deadline.ts';
import {
  alert,
  covered,
  detail,
  eventually,
  group,
  made,
  mails,
  once,
  overdue,
  source,
  unresolved,
  user,
  type Ward,
  ward,
} from '../support.ts';

const calm = (qd: Ward) => eventually(async () => (await overdue(qd)) === 0);
// biome-ignore lint/suspicious/noExplicitAny: the contract checks the shape
const isStale = (i: any) => i.timeline.some((e: { kind: string }) => e.kind === 'alert_stale');

test('an Alertmanager that dies before it resolves its alerts restarts the escalation or pages the acknowledger', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const one = await covered(owner, { steps: [[user(owner), 60]] });
  const open = await source(owner, qd.url, one.service.id);
  await open.deliver(group([alert('a')]));
  const two = await covered(owner, { steps: [[user(owner), 60]] });
  const taken = await source(owner, qd.url, two.service.id);
  await taken.deliver(group([alert('b')]));
  const [{ id: second }, { id: first }] = await unresolved(owner);
  await made(owner.post(`/oncall/incidents/${second}/ack`));
  await qd.clock.advance('61s');
  await once(owner, first, (i) => i.escalation.state === 'exhausted');

  await qd.clock.advance('23h');
  await calm(qd);
  const before = smtp.received.length;
  assert.equal(isStale(await detail(owner, first)), false, 'a repeat_interval of a day is common');
  await qd.clock.advance('3h');
  const walked = await once(owner, first, isStale);
  assert.equal(walked.status, 'open', 'silence is no end');
  assert.equal((await once(owner, second, isStale)).status, 'acknowledged');
  const received = await mails(smtp, owner.email, before + 2);
  assert.ok(received.some((m) => /prometheus no longer says that b down fires, nor that it ended/.test(m.data.replaceAll('=\r\n', ''))));
  await qd.clock.advance('61s');
  await calm(qd);
  assert.equal((await detail(owner, first)).timeline.filter((e: { kind: string }) => e.kind === 'alert_stale').length, 1, 'once');
});

test('the repeat interval of a source decides when it counts as silent', async (t) => {
  const qd = await ward(t);
  const { owner } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 86_400]] });
  const { deliver } = await source(owner, qd.url, service.id);
  await deliver(group([alert('a')]));
  const [{ id }] = await unresolved(owner);
  for (let seen = 0; seen < 2; seen++) {
    await qd.clock.advance('4h');
    await deliver(group([alert('a')]));
  }
  await qd.clock.advance('7h');
  await calm(qd);
  assert.equal(isStale(await detail(owner, id)), false);
  await qd.clock.advance('2h');
  await once(owner, id, isStale);
});

test('a lease is a day and an hour until a repetition was seen, then twice the longest, and never short', () => {
  const hours = (repeat: number | null) =>
    (Date.parse(staleDeadline('2026-01-01T00:00:00.000Z', repeat)) - Date.UTC(2026, 0, 1)) / 3_600_000;
  assert.deepEqual([null, 300, 4 * 3600, 24 * 3600].map(hours), [25, 5, 8, 48]);
});
