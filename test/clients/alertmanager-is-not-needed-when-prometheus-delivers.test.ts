import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, detail, eventually, mails, source, unresolved, user, ward } from '../../src/areas/oncall/test/support.ts';
import { startPrometheus, target } from './alertmanager-support.ts';

test('a real Prometheus without an Alertmanager: firing, renewed and resolved', { timeout: 120_000 }, async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { id, token } = await source(owner, qd.url, service.id);
  const one = await target(t);
  await startPrometheus(t, {
    to: { address: new URL(qd.url).host, pathPrefix: `/api/v1/oncall/alert-sources/${id}`, token },
    targets: [one],
  });

  one.up = false;
  const incident = await eventually(async () => (await unresolved(owner))[0], { withinMs: 40_000 });
  assert.match(incident.title, /^127\.0\.0\.1:\d+ down$/);
  await mails(smtp, owner.email, 1);
  await eventually(async () => (await detail(owner, incident.id)).alerts[0].deliveries >= 3, { withinMs: 40_000 });
  assert.equal((await detail(owner, incident.id)).alerts.length, 1);

  one.up = true;
  await eventually(async () => (await detail(owner, incident.id)).status === 'resolved', { withinMs: 40_000 });
  assert.equal(smtp.received.length, 1);
});
