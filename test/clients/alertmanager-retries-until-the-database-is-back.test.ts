import assert from 'node:assert/strict';
import { test } from 'node:test';
import { covered, eventually, mails, source, takeDatabase, unresolved, user, ward } from '../../src/areas/oncall/test/support.ts';
import { startAlertmanager } from './alertmanager-support.ts';

test('an alert that arrives while the database is away is delivered again by Alertmanager until it is taken', {
  timeout: 120_000,
}, async (t) => {
  const qd = await ward(t);
  const { owner, smtp } = qd;
  const { service } = await covered(owner, { steps: [[user(owner), 300]] });
  const { id, token } = await source(owner, qd.url, service.id);
  const alertmanager = await startAlertmanager(t, { url: `${qd.url}/api/v1/oncall/alert-sources/${id}/alerts`, token });

  const giveBack = await takeDatabase(qd);
  const posted = await fetch(`http://${alertmanager}/api/v2/alerts`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify([{ labels: { alertname: 'DiskFull', severity: 'critical' }, annotations: { summary: 'the disk is full' } }]),
  });
  assert.equal(posted.status, 200);
  const figure = async (name: string) => {
    const text = await (await fetch(`http://${alertmanager}/metrics`)).text();
    return Number(
      text
        .split('\n')
        .find((l) => l.startsWith(`${name}{`) && l.includes('"webhook"'))
        ?.split(' ')
        .at(-1) ?? 0,
    );
  };
  await eventually(async () => (await figure('alertmanager_notification_requests_failed_total')) >= 2, { withinMs: 40_000, everyMs: 100 });
  await giveBack();
  const [incident] = await eventually(
    async () => {
      const found = await unresolved(owner);
      return found.length ? found : undefined;
    },
    { withinMs: 60_000 },
  );
  assert.equal(incident.title, 'the disk is full');
  await mails(smtp, owner.email, 1);
  assert.equal(smtp.received.length, 1);
});
