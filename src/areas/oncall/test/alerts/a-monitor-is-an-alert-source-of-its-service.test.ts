import assert from 'node:assert/strict';
import { test } from 'node:test';
import { receiveMonitorAlert } from '../../index.ts';
import { covered, detail, mails, unresolved, user, ward } from '../support.ts';

test('a monitor that goes down opens an incident of its service, and resolves it when it comes up', async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const tell = (status: 'firing' | 'resolved', more = {}) =>
    qd.app.db.write((tx) =>
      receiveMonitorAlert(tx, owner.orgId, {
        serviceId: service.id,
        monitorId: 'mon_1',
        monitorName: 'checkout',
        status,
        startsAt: '2026-11-01T10:00:00.000Z',
        summary: 'checkout is down: connection refused',
        labels: { kind: 'http' },
        ...more,
      }),
    );
  assert.equal(await tell('firing'), true);
  const [incident] = await unresolved(owner);
  assert.equal(incident.title, 'checkout is down');
  assert.equal((await detail(owner, incident.id)).description, 'checkout is down: connection refused');
  const [mail] = await mails(smtp, owner.email, 1);
  assert.match(mail!.data, /connection refused/, 'who is paged is told what fails');
  await tell('resolved', { endedBecause: 'the monitor was deleted' });
  const over = await detail(owner, incident.id);
  assert.equal(over.status, 'resolved');
  assert.equal(over.origin, 'uptime');
  assert.equal(over.alerts[0].fingerprint, 'mon_1');
  assert.match(over.timeline.find((e: { kind: string }) => e.kind === 'alert_resolved').message, /: the monitor was deleted$/);
  assert.equal(await tell('firing', { serviceId: 'svc_gone' }), false);
});
