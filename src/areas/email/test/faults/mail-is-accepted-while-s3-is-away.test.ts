import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fakeS3 } from '../../../../../test/fakes/s3.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { uploadSegments } from '../../engine/segments.ts';
import { email } from '../../index.ts';
import { letter, mailScene, untilState } from '../mail-scene.ts';
import { sendKey } from '../sending-key.ts';

test('mail is accepted while S3 is away, and other machines send it once it is stored', async (t) => {
  const s3 = await fakeS3();
  t.after(() => s3.stop().catch(() => {}));
  const storage = {
    QUARTERDECK_STORAGE: `s3://${s3.bucket}`,
    QUARTERDECK_S3_ENDPOINT: s3.endpoint,
    QUARTERDECK_S3_REGION: s3.region,
    QUARTERDECK_S3_ACCESS_KEY: s3.accessKeyId,
    QUARTERDECK_S3_SECRET_KEY: s3.secretAccessKey,
  };
  const { qd, sink, key, env } = await mailScene(t, {}, { env: { ...storage, QUARTERDECK_ROLES: 'api,smtp' } });
  const dataDir = await mkdtemp(join(tmpdir(), 'qde-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  await cp(join(qd.dataDir, 'secret.key'), join(dataDir, 'secret.key'));
  const other = await quarterdeck(t, {
    connection: qd.connection,
    dataDir,
    env: { ...env, QUARTERDECK_ROLES: 'api,worker', QUARTERDECK_PUBLIC_URL: qd.url },
  });

  const { spool } = qd.own(email);

  await s3.stop();
  const { status, body } = await key.post('/email/send', letter({ to: ['first@far.example'] }));
  assert.equal(status, 202);
  const readContent = async (url: string) =>
    (await fetch(`${url}/api/v1/email/messages/${body.id}/content`, { headers: { authorization: `Bearer ${qd.owner.key}` } })).text();
  assert.match(await readContent(qd.url), /Hello Bob/);
  spool.rotate();
  await assert.rejects(uploadSegments(qd.app, spool));
  assert.match(await readContent(qd.url), /Hello Bob/, 'it is where it was');
  assert.equal((await key.post('/email/send', letter({ to: ['second@far.example'] }))).status, 202, 'the next segment takes more');

  // The other machine sends what it has itself, and leaves alone what it cannot read.
  const there = await sendKey(other, other.owner);
  const own = await there.post('/email/send', letter({ to: ['own@far.example'] }));
  await untilState(other, own.body.id, 'delivered');
  assert.equal((await qd.owner.get(`/email/messages/${body.id}`)).body.message.state, 'queued');

  await s3.start();
  spool.rotate();
  await uploadSegments(qd.app, spool);
  await untilState(qd, body.id, 'delivered');
  await sink.received(3);
  assert.match(await readContent(other.url), /Hello Bob/);
  assert.deepEqual(sink.messages.flatMap(({ to }) => to).sort(), ['first@far.example', 'own@far.example', 'second@far.example']);
});
