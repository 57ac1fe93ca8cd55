import assert from 'node:assert/strict';
import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { type FakeS3, fakeS3 } from '../../../../../test/fakes/s3.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { checkHeldMail } from '../../../../admin/doctor/held-mail.ts';
import { adminHere } from '../../../../admin/test/support.ts';
import { sql } from '../../../../kernel/sql.ts';
import { watchHolders } from '../../tasks.ts';
import { type LoggedMessage, letter, mailScene, untilState } from '../mail-scene.ts';
import { sendKey } from '../sending-key.ts';

const s3Env = (s3: FakeS3) => ({
  QUARTERDECK_STORAGE: `s3://${s3.bucket}`,
  QUARTERDECK_S3_ENDPOINT: s3.endpoint,
  QUARTERDECK_S3_REGION: s3.region,
  QUARTERDECK_S3_ACCESS_KEY: s3.accessKeyId,
  QUARTERDECK_S3_SECRET_KEY: s3.secretAccessKey,
});

/** A server that sends, and others on disks of their own. */
async function fleet(t: TestContext) {
  const s3 = await fakeS3();
  t.after(() => s3.stop().catch(() => {}));
  // The one that the test looks through has a role that neither sends nor adopts what others hold.
  const scene = await mailScene(t, {}, { env: { ...s3Env(s3), QUARTERDECK_ROLES: 'api', QUARTERDECK_METRICS_TOKEN: 'numbers' } });
  const { qd, env } = scene;
  const newDisk = async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'qde-'));
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    await cp(join(qd.dataDir, 'secret.key'), join(dataDir, 'secret.key'));
    return dataDir;
  };
  const start = (dataDir: string, roles: string) =>
    quarterdeck(t, { connection: qd.connection, dataDir, env: { ...env, QUARTERDECK_ROLES: roles, QUARTERDECK_PUBLIC_URL: qd.url } });
  const acceptTen = async (server: Awaited<ReturnType<typeof start>>): Promise<string[]> => {
    const key = await sendKey(server, server.owner);
    const ids: string[] = [];
    for (let n = 0; n < 10; n++) {
      const { status, body } = await key.post('/email/send', letter({ to: [`n${n}@far.example`] }));
      assert.equal(status, 202);
      ids.push(body.id);
    }
    return ids;
  };
  return { ...scene, s3, newDisk, start, acceptTen };
}

const held = async (dataDir: string) => (await readdir(join(dataDir, 'mail'))).filter((name) => name.includes('%2F'));

test('mail that a server with S3 accepted before it stopped is sent by others, though its disk is gone', async (t) => {
  const { qd, sink, newDisk, start, acceptTen } = await fleet(t);
  const lostDisk = await newDisk();
  const accepting = await start(lostDisk, 'api,smtp');
  const ids = await acceptTen(accepting);
  await accepting.stop();
  assert.deepEqual(await held(lostDisk), [], 'a stop hands everything over');
  await rm(lostDisk, { recursive: true });

  await start(await newDisk(), 'worker');
  for (const id of ids) await untilState(qd, id, 'delivered');
  assert.equal(sink.count, 10);
});

test('while a server runs, S3 has what it accepted within two seconds, and a worker elsewhere is told at once', async (t) => {
  const { qd, newDisk, start, acceptTen } = await fleet(t);
  await start(await newDisk(), 'worker');
  const accepting = await start(await newDisk(), 'api,smtp');
  for (const id of await acceptTen(accepting)) await untilState(qd, id, 'delivered');
});

test('a start adopts what is in its data directory at once, whatever its roles, and mail on a lost disk is told', {
  timeout: 60_000,
}, async (t) => {
  const { qd, s3, newDisk, start, acceptTen } = await fleet(t);
  const [keptDisk, lostDisk] = [await newDisk(), await newDisk()];
  const kept = await start(keptDisk, 'api,smtp');
  const lost = await start(lostDisk, 'api,smtp');
  await s3.stop(); // as for a server that is killed before its upload
  const [keptIds, lostIds] = [await acceptTen(kept), await acceptTen(lost)];
  await Promise.all([kept.stop(), lost.stop()]);
  assert.equal((await held(keptDisk)).length, 1, 'a stop does not wait for ever');
  await rm(lostDisk, { recursive: true });
  await s3.start();

  await start(await newDisk(), 'worker');
  await start(keptDisk, 'api');
  for (const id of keptIds) await untilState(qd, id, 'delivered');

  // The other one's mail waits for its disk, and is told of.
  const stateOf = async (id: string) => (await qd.owner.get(`/email/messages/${id}`)).body.message as LoggedMessage;
  await qd.clock.advance('2m');
  const look = async () => {
    await qd.perform(watchHolders);
    return (await checkHeldMail(qd.app.db, qd.app.config)).find(({ verdict }) => verdict === 'warn')?.says ?? '';
  };
  assert.match(await look(), /mail to 10 recipients .* only in the data directory/);
  const { host, port, user, password, database } = qd.connection;
  const env = {
    QUARTERDECK_DATA: qd.dataDir,
    QUARTERDECK_DATABASE_URL: `postgresql://${user}:${encodeURIComponent(String(password))}@/${database}?host=${encodeURIComponent(String(host))}&port=${port}`,
  };
  const queue = await adminHere(['email', 'queue'], env);
  assert.match(queue.out, /on an absent disk +10 /, queue.err);
  const scraped = await (await fetch(`${qd.url}/metrics`, { headers: { authorization: 'Bearer numbers' } })).text();
  assert.match(scraped, /quarterdeck_email_recipients_on_absent_disks 10/);
  // A week in which no server ran is no absence of one disk.
  await qd.clock.advance('168h');
  await look();
  assert.equal((await stateOf(lostIds[0]!)).state, 'queued', 'its disk may still come back');

  await qd.app.db.write((tx) => tx.query(sql`update email.holder set away_seconds = 24 * 3600 - 60 where away_seconds > 0`));
  await qd.clock.advance('2m');
  await look();
  for (const id of lostIds) {
    const { state, lastError } = await stateOf(id);
    assert.equal(state, 'failed');
    assert.match(lastError!, /only on the disk of a server that has been away for 24 hours/);
  }
  assert.equal(await look(), '');
  await eventually(async () => (await stateOf(keptIds[0]!)).state === 'delivered');
});
