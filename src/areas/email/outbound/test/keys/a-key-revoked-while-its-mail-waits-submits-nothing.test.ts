import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { openRace } from '../../../../../../test/harness/race.ts';
import { email } from '../../../index.ts';
import type { OpenEmail } from '../../../open.ts';
import { letter } from '../../../test/mail-scene.ts';
import { sendingKey, sendKey } from '../../../test/sending-key.ts';
import { submitBySmtp } from '../../../test/submit-by-smtp.ts';

test('a send key revoked while its mail waits submits nothing and cancels nothing, by any protocol', async (t) => {
  const server = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api,smtp', QUARTERDECK_PUBLIC_URL: 'http://localhost' } });
  const { owner, url } = server;
  const key = await sendingKey(server);
  const [port] = server.own<OpenEmail>(email as never).smtp.ports as [number];
  const race = await openRace(server.connection);
  t.after(race.close);
  const later = {
    scheduledAt: new Date(Date.parse((await owner.get('/email/domains')).body.domains[0].createdAt) + 86_400_000).toISOString(),
  };
  const [first, second] = [await key.post('/email/send', letter(later)), await key.post('/email/send', letter(later))].map(
    (a) => a.body.id,
  );
  const other = await sendKey(server, owner);
  assert.equal((await other.post('/email/send', letter())).status, 202); // remembered from here on
  const accepted = async () => (await owner.get('/email/settings')).body.acceptedToday;
  const before = await accepted();

  await race.hold('select from email.send_key where id = $1 for update', [key.id]);
  const revoked = owner.delete(`/email/keys/${key.id}`);
  await race.untilWaiting(1);
  const resend = (path: string, body: unknown) =>
    fetch(`${url}/resend/emails${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key.secret}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const running = [
    key.post('/email/send', letter()),
    key.post('/email/send', letter(), { 'idempotency-key': 'order-1' }),
    key.post('/email/send/batch', { messages: [letter()] }),
    key.post(`/email/messages/${first}/cancel`),
    resend('', { from: 'ada@example.com', to: ['bob@far.example'], subject: 'Hello', text: 'Hello' }),
    resend(`/${second}/cancel`, {}),
  ].map(async (answer) => (await answer).status);
  const bySmtp = submitBySmtp(t, port, key.secret, ['bob@far.example']);
  let over = 0;
  for (const each of running) void each.finally(() => over++);
  await race.untilWaiting(7, () => over); // the revocation and two that cancel wait; a batch waits for no key
  assert.equal(over, 4);
  assert.match(await bySmtp, /^451 4\.3\.0 the rights of the send key are being changed/);
  await race.release();
  assert.equal((await revoked).status, 204);

  assert.deepEqual(await Promise.all(running), [503, 503, 503, 401, 503, 403]);
  assert.equal(await accepted(), before);
  for (const id of [first, second]) assert.equal((await owner.get(`/email/messages/${id}`)).body.message.state, 'queued');

  // Revoked without a cache invalidation in this process: the batch checks the key itself.
  await race.hold('update email.send_key set revoked_at = kernel.now() where id = $1', [other.id]);
  await race.release();
  assert.equal((await other.post('/email/send', letter())).status, 401);
  assert.equal(await accepted(), before);
});
