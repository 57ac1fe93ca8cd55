import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { letter, mailScene, untilState } from '../mail-scene.ts';

test('mail accepted by a server without the role worker is sent by one that has it', async (t) => {
  const { qd, sink, key, env } = await mailScene(t, {}, { env: { QUARTERDECK_ROLES: 'api,smtp' } });
  const { status, body } = await key.post('/email/send', letter());
  assert.equal(status, 202);
  assert.equal(
    (await qd.owner.get(`/email/messages/${body.id}`)).body.message.state,
    'queued',
    'it waits for a server with the role worker',
  );
  assert.equal(sink.sessions, 0);

  await quarterdeck(t, {
    connection: qd.connection,
    dataDir: qd.dataDir,
    env: { ...env, QUARTERDECK_ROLES: 'worker', QUARTERDECK_PUBLIC_URL: qd.url },
  });
  await untilState(qd, body.id, 'delivered');

  // One that comes while the other runs is told of at once.
  const next = await key.post('/email/send', letter({ to: ['eve@far.example'] }));
  await untilState(qd, next.body.id, 'delivered');
  assert.deepEqual(
    sink.messages.flatMap(({ to }) => to),
    ['bob@far.example', 'eve@far.example'],
  );
});
