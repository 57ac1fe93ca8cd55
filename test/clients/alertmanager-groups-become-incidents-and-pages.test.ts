import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, detail, eventually, mails, once, source, unresolved, user, ward } from '../../src/areas/oncall/test/support.ts';
import { startAlertmanager, startPrometheus, target } from './alertmanager-support.ts';

test('a real Prometheus and Alertmanager: firing, mixed and resolved groups', { timeout: 120_000 }, async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { id, token } = await source(owner, qd.url, service.id);
  const [one, other] = [await target(t), await target(t)];
  const alertmanager = await startAlertmanager(t, { url: `${qd.url}/api/v1/oncall/alert-sources/${id}/alerts`, token });
  await startPrometheus(t, { to: { address: alertmanager }, targets: [one, other] });

  one.up = false;
  other.up = false;
  const incident = await eventually(async () => (await unresolved(owner)).find((i: { firingAlerts: number }) => i.firingAlerts === 2), {
    withinMs: 40_000,
  });
  const [mail] = await mails(smtp, owner.email, 1);
  assert.match(mail!.data, new RegExp(`Subject: \\[${service.name}\\]`));

  one.up = true;
  const mixed = await once(owner, incident.id, (i) => i.firingAlerts === 1);
  assert.equal(mixed.status, 'open');
  assert.deepEqual(mixed.alerts.map((a: { status: string }) => a.status).sort(), ['firing', 'resolved']);
  assert.match(mixed.alerts[0].title, /^127\.0\.0\.1:\d+ down$/);

  other.up = true;
  await eventually(async () => (await detail(owner, incident.id)).status === 'resolved', { withinMs: 40_000 });
  const over = await detail(owner, incident.id);
  assert.equal(over.resolvedBy.kind, 'auto');
  assert.equal(smtp.received.length, 1);
  assert.deepEqual(await unresolved(owner), []);
});
