import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fakeS3 } from '../../../../../test/fakes/s3.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { uploadSegments } from '../../engine/segments.ts';
import { deliverTo, idIn, mxScene } from '../../inbound/test/receiving/mx-scene.ts';
import { email } from '../../index.ts';

test('mail that arrived on a machine which stops is read by another one once S3 has it', { timeout: 120_000 }, async (t) => {
  const s3 = await fakeS3();
  t.after(() => s3.stop().catch(() => {}));
  const storage = {
    QUARTERDECK_STORAGE: `s3://${s3.bucket}`,
    QUARTERDECK_S3_ENDPOINT: s3.endpoint,
    QUARTERDECK_S3_REGION: s3.region,
    QUARTERDECK_S3_ACCESS_KEY: s3.accessKeyId,
    QUARTERDECK_S3_SECRET_KEY: s3.secretAccessKey,
  };
  // A DNS that is silent: the machine that took it in is still reading it when it stops.
  const scene = await mxScene(t, { env: storage });
  const { qd, env, dns, endpoint, port } = scene;
  dns.zone['far.example'] = 'silence';
  const answer = await deliverTo(t, port);
  assert.match(answer, /^250 /);
  const arrivals = async () =>
    (await qd.app.db.read((tx) => tx.query(sql`select node, body_key, lease is not null as leased from email.arrival`))).rows;
  const [kept] = (await arrivals()) as { node: string | null; body_key: string; leased: boolean }[];
  assert.notEqual(kept!.node, null, 'its bytes are on this machine alone');

  const { spool, readings } = qd.own(email).receiving;
  await readings!.stop();
  spool.rotate();
  await uploadSegments(qd.app, spool);
  assert.deepEqual(
    ((await arrivals()) as { node: string | null }[]).map(({ node }) => node),
    [null],
    'every machine reads it',
  );

  const dataDir = await mkdtemp(join(tmpdir(), 'qde-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  await cp(join(qd.dataDir, 'secret.key'), join(dataDir, 'secret.key'));
  delete dns.zone['far.example'];
  await quarterdeck(t, {
    connection: qd.connection,
    dataDir,
    env: { ...env, QUARTERDECK_ROLES: 'worker', QUARTERDECK_PUBLIC_URL: qd.url },
  });
  await qd.clock.advance('61s');
  const [told] = await endpoint.heard(1);
  assert.equal(told!.event.data.messageId, idIn(answer));
  assert.match(told!.event.data.text, /It does not work/);
});
