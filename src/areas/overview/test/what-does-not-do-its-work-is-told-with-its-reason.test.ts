import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { run } from '../../../kernel/db/index.ts';
import { made, service } from '../../oncall/test/support.ts';

test('what does not do its work is told with its reason, and no more once it does', async (t) => {
  const qd = await quarterdeck(t, { env: { QUARTERDECK_CLUSTER_QUOTA: '1' } });
  const { owner } = qd;
  const { orgId } = owner;
  const { id: serviceId } = await service(owner);
  const source = await made(owner.post('/oncall/alert-sources', { name: 'prometheus', serviceId }));
  await qd.app.db.write(async (tx) => {
    await run(tx)`update oncall.alert_source set problem = 'an alert without labels', problem_at = kernel.now() where id = ${source.id}`;
    await run(tx)`
      insert into oncall.provider (org_id, account_sid, from_number, auth_token, broken, updated_at)
      values (${orgId}, 'AC1', '+33612345678', '', 'the account is suspended', kernel.now())`;
    await run(tx)`
      insert into oncall.doctor_report (org_id, examined_at, services, unpaged, digest) values (${orgId}, kernel.now(), 3, 2, 'x')`;
    await run(
      tx,
    )`insert into uptime.vantage (id, label, created_at) values ('lima', 'Lima', kernel.now()), ('quito', 'Quito', kernel.now())`;
    await run(tx)`
      insert into uptime.agent (id, vantage, name, hash, created_at)
      values ('agt_1', 'lima', 'lima', '1', kernel.now()), ('agt_2', 'quito', 'quito', '2', kernel.now())`;
    await run(tx)`
      insert into uptime.monitor (org_id, id, name, enabled, kind, target, interval_seconds, timeout_ms, vantages, confirmations, quorum, revision,
                                  created_at, updated_at)
      values (${orgId}, 'mon_1', 'shop', true, 'tcp', '{"host":"a","port":1,"tls":false}', 60, 1000, '{lima}', 2, 1, 1, kernel.now(), kernel.now())`;
    await run(tx)`
      insert into uptime.monitor_state (org_id, monitor_id, state, since, began_at) values (${orgId}, 'mon_1', 'up', kernel.now(), kernel.now())`;
    for (const state of ['bounced', 'failed', 'delivered'])
      await run(tx)`
        insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, message_id,
                                   body_key, body_offset, body_bytes, header_bytes, body_hash)
        values (${orgId}, kernel.new_id('msg'), 'send', ${state}, kernel.now(), kernel.now(), 'http', 'dom_1',
                'a@example.com', '{b@example.com}', '{}', '<1@example.com>', 'mail/x', 0, 5, 0, '')`;
    await run(tx)`
      insert into clusters.cluster (org_id, id, name, driver, tier, version, replicas, mesh, datastore, load_balancers, phase, phase_at, reason,
                                    created_at, run_at)
      values (${orgId}, 'cls_1', 'prod', 'embedded', 'small', 'v1', 1, false, '{"mode":"shared"}', false, 'failed', kernel.now(), 'no port is free',
              kernel.now(), kernel.now() + interval '1 day')`;
  });

  const seen = await made(owner.get('/overview'));
  assert.deepEqual(seen.unavailable, []);
  assert.deepEqual(
    seen.failing.map(({ kind, name, reason }: Record<string, string>) => `${kind} ${name}: ${reason}`).sort(),
    [
      'alertSource prometheus: an alert without labels',
      'messages Messages: 2 messages of the last day bounced or failed',
      'paging Paging: an incident would page no one for 2 services; the on-call doctor names them',
      'provider SMS and voice provider: the account is suspended',
      'vantage Lima: no prober reports from there; nothing is checked from there',
    ],
    'Quito checks nothing of ours',
  );
  assert.deepEqual(
    seen.down.map(({ kind, name, state, reason }: Record<string, string>) => `${kind} ${name} ${state}: ${reason}`),
    ['cluster prod failed: no port is free'],
  );
  assert.deepEqual(
    seen.full.map(({ kind, percent }: { kind: string; percent: number }) => `${kind} ${percent}`),
    ['clusters 100'],
  );

  await qd.clock.advance('25h');
  await qd.app.db.write(async (tx) => {
    await run(tx)`update oncall.provider set broken = null`;
    await run(tx)`update oncall.doctor_report set unpaged = 0`;
    await run(tx)`update uptime.monitor set enabled = false`;
    await run(tx)`delete from clusters.cluster`;
  });
  const later = await made(owner.get('/overview'));
  assert.deepEqual({ failing: later.failing, down: later.down, full: later.full }, { failing: [], down: [], full: [] });
});
