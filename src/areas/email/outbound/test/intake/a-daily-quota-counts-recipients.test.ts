import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operator } from '../../../../../identity/audit.ts';
import { posture } from '../../../index.ts';
import { letter, mailScene } from '../../../test/mail-scene.ts';

test('a day has its quota, counted by recipient', async (t) => {
  const { qd, key } = await mailScene(t, {}, { env: { QUARTERDECK_EMAIL_DAILY_QUOTA: '5' } });
  const send = (count: number) => key.post('/email/send', letter({ to: Array.from({ length: count }, (_, i) => `u${i}@far.example`) }));
  const accepted = async () => (await qd.owner.get('/email/settings')).body as { dailyQuota: number; acceptedToday: number };
  assert.equal((await send(3)).status, 202);
  const refused = await send(3);
  assert.equal(refused.status, 429);
  assert.match((refused.body as { error: string }).error, /daily quota of 5 recipients is used up until midnight UTC/);
  const wait = Number(refused.headers.get('retry-after'));
  assert.ok(wait > 0 && wait <= 86_400, String(wait));
  assert.equal((await accepted()).acceptedToday, 3);

  // At once, from many: not one more than there is room for.
  const many = await Promise.all(Array.from({ length: 10 }, () => send(1)));
  assert.equal(many.filter((a) => a.status === 202).length, 2);
  assert.equal((await accepted()).acceptedToday, 5);

  // Another organization has a quota of its own; the operator sets another; the next day begins anew.
  await qd.app.db.write((tx) => posture.setDailyQuota(tx, operator(qd.owner.orgId), 7));
  assert.equal((await send(2)).status, 202);
  assert.equal((await send(1)).status, 429);
  await qd.clock.advance('24h');
  assert.equal((await accepted()).acceptedToday, 0);
  assert.equal((await send(7)).status, 202);
});
