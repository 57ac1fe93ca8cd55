import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operator } from '../../../../../identity/audit.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { endpointAt, listening } from '../../../webhooks/test/listening.ts';
import { resumeSending } from '../../engine/sending-pause.ts';
import { hardBounce } from '../feedback/mails.ts';
import { report } from '../feedback/reported.ts';

test('an organization with too many bounces is warned, then paused, and counted anew after the operator’s resume', async (t) => {
  const { qd, key, sink } = await mailScene(t);
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'sending.paused', 'sending.resumed');
  /** Counts earlier deliveries in this hour. */
  const pretend = (recipients: number) =>
    qd.app.db.write((tx) =>
      tx.query(sql`
        insert into email.sending_hour as h (org_id, hour, recipients, hard, complaints) values (${qd.owner.orgId}, date_trunc('hour', kernel.now(), 'UTC'), ${recipients}, 0, 0)
            on conflict (org_id, hour) do update set recipients = h.recipients + excluded.recipients`),
    );
  const settings = async () => (await qd.owner.get('/email/settings')).body as { paused: boolean; pauseReason?: string; warning?: string };
  let n = 0;
  const bounceOne = async () => {
    const address = `gone-${++n}@far.example`;
    const { id } = (await key.post('/email/send', letter({ to: [address] }))).body as { id: string };
    await untilState(qd, id, 'delivered');
    await report(qd, id, address, hardBounce(address));
    return id;
  };
  const bounceAll = (many: number) => Promise.all(Array.from({ length: many }, bounceOne));
  const audited = async (action: string) =>
    (await qd.app.db.read((tx) => tx.query(sql`select 1 from kernel.audit where org_id = ${qd.owner.orgId} and action = ${action}`))).rows
      .length;

  // One of one says nothing.
  await bounceOne();
  assert.deepEqual([(await settings()).paused, (await settings()).warning], [false, undefined]);

  // 4 of 200 are 2 %, of the 5 that pause: a warning, once.
  await pretend(196);
  await bounceAll(3);
  assert.match((await settings()).warning ?? '', /^4 of 200 recipients bounced hard in the last 7 days, 2 %; sending stops at 5 %$/);
  await bounceOne();
  assert.equal(await audited('email.sending.warn'), 1);

  await bounceAll(5);
  assert.equal((await settings()).paused, false);
  const waiting = (
    (await key.post('/email/send', letter({ to: ['later@far.example'], scheduledAt: '2000-01-01T00:00:00Z' }))).body as { id: string }
  ).id;
  await untilState(qd, waiting, 'delivered');
  await bounceOne();
  const paused = await settings();
  assert.equal(paused.paused, true);
  assert.match(paused.pauseReason ?? '', /^11 of 208 recipients bounced hard/);
  assert.equal(paused.warning, undefined);
  const refused = await key.post('/email/send', letter());
  assert.equal(refused.status, 403);
  assert.match((refused.body as { error: string }).error, /sending is paused: 11 of 208/);
  const [told] = await endpoint.heard(1);
  assert.deepEqual([told!.event.type, told!.event.data.reason], ['sending.paused', paused.pauseReason]);
  assert.equal(await audited('email.sending.pause'), 1);

  // After the resume only what is sent after it counts: bounces of earlier mail do not.
  const before = await qd.app.db.read((tx) => tx.query(sql`select message_id from email.recipient where state = 'delivered' limit 1`));
  await qd.clock.advance('1m');
  await qd.app.db.write((tx) => resumeSending(tx, operator(qd.owner.orgId)));
  await pretend(300);
  const { message_id } = before.rows[0] as { message_id: string };
  assert.equal(await report(qd, message_id, 'later@far.example', hardBounce('later@far.example')), 'bounced');
  const { rows } = await qd.app.db.read((tx) =>
    tx.query(sql`select sum(hard)::int as hard from email.sending_hour where org_id = ${qd.owner.orgId}`),
  );
  assert.deepEqual(rows, [{ hard: 0 }]);
  assert.equal((await settings()).paused, false);
  await bounceAll(3);
  assert.equal((await settings()).paused, false);

  // What is older than 7 days is not looked at.
  await pretend(1_000);
  await qd.clock.advance('8d');
  await bounceOne();
  assert.equal((await settings()).warning, undefined);
  assert.ok(sink.messages.length > 10);
});
