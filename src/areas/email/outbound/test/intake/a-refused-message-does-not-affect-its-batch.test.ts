import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operator } from '../../../../../identity/audit.ts';
import { posture } from '../../../index.ts';
import { letter, mailScene } from '../../../test/mail-scene.ts';
import { sendingKey } from '../../../test/sending-key.ts';

test('a refused message does not affect its batch, and is counted nowhere', async (t) => {
  const { qd, key } = await mailScene(t, {}, { env: { QUARTERDECK_EMAIL_DAILY_QUOTA: '100' } });
  const organization = await qd.organization('bravo');
  const bravo = await sendingKey(qd, organization, 'bravo.example');
  await qd.owner.post('/email/suppressions', { address: 'gone@far.example' });
  const stored = async () => {
    let bytes = 0;
    for await (const { size } of qd.app.storage.list('mail/')) bytes += size;
    return bytes;
  };
  const acceptedToday = async () => ((await qd.owner.get('/email/settings')).body as { acceptedToday: number }).acceptedToday;
  const good = () => key.post('/email/send', letter());
  const foreign = () => bravo.post('/email/send', letter({ from: 'x@bravo.example' }));
  const statuses = async (sent: Promise<{ status: number }>[]) => (await Promise.all(sent)).map(({ status }) => status);

  // A recipient on the suppression list among others: it is not sent to, and they are.
  const toGone = key.post('/email/send', letter({ to: ['gone@far.example'] }));
  assert.deepEqual(await statuses([good(), toGone, foreign(), good()]), [202, 202, 202, 202]);
  const { id } = (await toGone).body as { id: string };
  assert.equal((await qd.owner.get(`/email/messages/${id}`)).body.message.state, 'suppressed');
  assert.equal(await acceptedToday(), 3);

  // An organization that has used up its day: its messages are refused and leave no bytes; those of other organizations are accepted.
  await qd.app.db.write((tx) => posture.setDailyQuota(tx, operator(organization.orgId), 1));
  const before = await stored();
  assert.deepEqual(await statuses([foreign(), foreign()]), [429, 429]);
  assert.equal(await stored(), before);
  assert.deepEqual(await statuses([good(), foreign(), good(), foreign(), good()]), [202, 429, 202, 429, 202]);
  assert.equal(await acceptedToday(), 6);

  // Once it is within its quota again, its messages are accepted as usual.
  await qd.app.db.write((tx) => posture.setDailyQuota(tx, operator(organization.orgId), 10));
  assert.deepEqual(await statuses([foreign(), good(), foreign()]), [202, 202, 202]);
  assert.equal(await acceptedToday(), 7);
});
