import assert from 'node:assert/strict';
import { test } from 'node:test';
import { operator } from '../../../../../identity/audit.ts';
import { posture } from '../../../index.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { untilLooked } from '../../../test/statements.ts';

test('paused mail waits and then drains', async (t) => {
  let isOpen = false;
  const { qd, key, sink } = await mailScene(t, { at: (stage) => (stage === 'rcpt' && !isOpen ? '451 later' : undefined) });
  const { body } = await key.post('/email/send', letter());
  const { id } = body as { id: string };
  await untilState(qd, id, 'deferred');

  const act = (work: typeof posture.resumeSending) => qd.app.db.write((tx) => work(tx, operator(qd.owner.orgId)));
  await act((tx, actor) => posture.pauseSending(tx, actor, 'too many complaints'));
  isOpen = true;
  const refused = await key.post('/email/send', letter());
  assert.equal(refused.status, 403);
  assert.match((refused.body as { error: string }).error, /sending is paused: too many complaints/);
  const { body: settings } = await qd.owner.get('/email/settings');
  assert.equal((settings as { paused: boolean }).paused, true);
  assert.equal((settings as { pauseReason: string }).pauseReason, 'too many complaints');

  await qd.clock.advance('1h');
  await untilLooked(t, qd);
  await untilState(qd, id, 'deferred');
  assert.equal(sink.messages.length, 0);

  await act(posture.resumeSending);
  await untilState(qd, id, 'delivered');
  assert.equal((await key.post('/email/send', letter())).status, 202);
});
