import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../../../kernel/sql.ts';
import { updateEntitlements } from '../../../../organization/store/organizations.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { sendKey } from '../../../test/sending-key.ts';
import { endpointAt, listening } from '../../../webhooks/test/listening.ts';

test('scheduled mail asks for suppressions, entitlement and key again when it is due', async (t) => {
  const { qd, key, sink } = await mailScene(t);
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'email.suppressed', 'email.failed');
  const at = new Date(Date.now() + 86_400_000).toISOString();
  const schedule = async (by: typeof key | Awaited<ReturnType<typeof sendKey>>, to: string, scheduledAt = at): Promise<string> => {
    const { status, body } = await by.post('/email/send', letter({ to: [to], scheduledAt }));
    assert.equal(status, 202, JSON.stringify(body));
    return body.id;
  };
  const lost = await sendKey(qd, qd.owner);
  const fine = await schedule(key, 'bob@far.example');
  const suppressed = await schedule(key, 'gone@far.example');
  const revoked = await schedule(lost, 'carol@far.example');
  assert.equal((await qd.owner.post('/email/suppressions', { address: 'GONE@far.example' })).status, 201);
  assert.ok((await qd.owner.delete(`/email/keys/${lost.id}`)).status < 300);

  await qd.clock.advance('25h');
  await untilState(qd, fine, 'delivered');
  assert.match((await untilState(qd, suppressed, 'suppressed')).message.lastError ?? '', /suppressed before its time/);
  assert.match((await untilState(qd, revoked, 'failed')).message.lastError ?? '', /send key .* was revoked before its time/);
  const told = await endpoint.heard(2);
  assert.deepEqual(told.map(({ event }) => [event.type, event.data.recipient]).sort(), [
    ['email.failed', 'carol@far.example'],
    ['email.suppressed', 'gone@far.example'],
  ]);

  const later = await schedule(key, 'dave@far.example', new Date(Date.now() + 2 * 86_400_000).toISOString());
  await qd.app.db.write((tx) => updateEntitlements(tx, qd.owner.orgId, []));
  await qd.clock.advance('25h');
  const failed = async () =>
    (await qd.app.db.read((tx) => tx.query(sql`select state, last_error from email.message where id = ${later}`))).rows[0] as {
      state: string;
      last_error: string;
    };
  for (let tries = 0; (await failed()).state !== 'failed' && tries < 400; tries++) await new Promise((next) => setTimeout(next, 25));
  assert.match((await failed()).last_error, /email was not enabled for the organization/);
  assert.deepEqual(
    sink.messages.flatMap(({ to }) => to),
    ['bob@far.example'],
  );
});
