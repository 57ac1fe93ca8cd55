import assert from 'node:assert/strict';
import { test } from 'node:test';
import { alert, covered, group, made, mails, once, source, unresolved, user, ward } from '../support.ts';

test('an alert that begins while another ends pages the acknowledger, and restarts an exhausted escalation', async (t) => {
  const { owner, url, smtp, clock } = await ward(t);
  const { service } = await covered(owner, { steps: [[user(owner), 60]] });
  const { deliver } = await source(owner, url, service.id);
  await deliver(group([alert('a')]));
  const [{ id }] = await unresolved(owner);
  await mails(smtp, owner.email, 1);
  await clock.advance('61s');
  await once(owner, id, (i) => i.escalation.state === 'exhausted');

  await deliver(group([alert('a', { status: 'resolved' }), alert('b')]));
  await mails(smtp, owner.email, 2);
  const again = await once(owner, id, (i) => i.escalation.state === 'walking');
  assert.equal(again.firingAlerts, 1);

  await made(owner.post(`/oncall/incidents/${id}/ack`));
  await deliver(group([alert('b', { status: 'resolved' }), alert('c')]));
  const told = await mails(smtp, owner.email, 3);
  assert.match(told[2]!.data, /c down fires/);
});
