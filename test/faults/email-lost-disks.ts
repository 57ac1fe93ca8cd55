/**
 * Mail with S3 while servers stop or are killed and their disks are lost, and while sending is paused for days, for QUARTERDECK_FAULT_ROUNDS
 * rounds (default 10). A stop loses nothing; a kill loses at most the last two seconds, and what is lost is told.
 */
import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { cp, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { posture } from '../../src/areas/email/index.ts';
import { watchHolders } from '../../src/areas/email/tasks.ts';
import { letter, mailScene, withoutOthers } from '../../src/areas/email/test/mail-scene.ts';
import { operator } from '../../src/identity/audit.ts';
import { sql } from '../../src/kernel/sql.ts';
import { fakeS3 } from '../fakes/s3.ts';
import { urlOf } from '../harness/postgres.ts';
import { eventually, scratch, serverProcess } from '../harness/process.ts';
import { caller } from '../harness/request.ts';

const rounds = Number(process.env.QUARTERDECK_FAULT_ROUNDS ?? 10);

test('disks are lost and sending is paused for days: mail is sent, or its sender is told', { timeout: 3_600_000 }, async (t) => {
  const s3 = await fakeS3();
  t.after(() => s3.stop().catch(() => {}));
  const storage = {
    QUARTERDECK_STORAGE: `s3://${s3.bucket}`,
    QUARTERDECK_S3_ENDPOINT: s3.endpoint,
    QUARTERDECK_S3_REGION: s3.region,
    QUARTERDECK_S3_ACCESS_KEY: s3.accessKeyId,
    QUARTERDECK_S3_SECRET_KEY: s3.secretAccessKey,
  };
  const { qd, key, env, sink } = await mailScene(t, {}, { env: { ...storage, QUARTERDECK_EMAIL_DAILY_QUOTA: '1000000' } });
  const { dir } = await scratch(t);
  /** Accepted by a server that stopped cleanly, or more than two seconds before its end. */
  const safe: string[] = [];
  const doubtful: string[] = [];
  for (let round = 0; round < rounds; round++) {
    const dataDir = join(dir, `disk ${round}`);
    await mkdir(dataDir);
    await cp(join(qd.dataDir, 'secret.key'), join(dataDir, 'secret.key'));
    const server = serverProcess(t, {
      dir,
      dataDir,
      nodeFlags: withoutOthers,
      env: {
        ...env,
        QUARTERDECK_ROLES: 'api',
        QUARTERDECK_DATABASE_URL: urlOf(qd.connection),
        QUARTERDECK_PUBLIC_URL: qd.url,
        QUARTERDECK_LOG_LEVEL: 'silent',
      },
    });
    const { post } = caller(await server.ready, key.secret);
    const isPaused = round % 3 === 2;
    const act = (work: typeof posture.resumeSending) => qd.app.db.write((tx) => work(tx, operator(qd.owner.orgId)));
    const accepted: { id: string; at: number }[] = [];
    const until = performance.now() + randomInt(1_000, 4_000);
    for (let n = 0; performance.now() < until; n++) {
      const { status, body } = await post('/email/send', letter({ to: [`r${round}n${n}@far.example`] }));
      if (status === 202) accepted.push({ id: body.id, at: performance.now() });
      else assert.equal(status, 429, JSON.stringify(body));
      await sleep(randomInt(150));
    }
    if (isPaused) await act((tx, actor) => posture.pauseSending(tx, actor, 'a campaign'));
    const endedAt = performance.now();
    const isClean = round % 2 === 0;
    if (isClean) assert.equal(await server.stopped(), 0);
    else await server.killed();
    await rm(dataDir, { recursive: true, force: true });
    for (const { id, at } of accepted) (isClean || endedAt - at > 2_500 ? safe : doubtful).push(id);
    if (isPaused) {
      await qd.clock.advance('74h');
      await act(posture.resumeSending);
    }
  }

  const states = async (ids: string[]) => {
    const { rows } = await qd.app.db.read((tx) =>
      tx.query(sql`select id, state, last_error from email.message where id = any(${ids}::text[])`),
    );
    return rows as { id: string; state: string; last_error: string | null }[];
  };
  await qd.clock.advance('2m');
  await eventually(async () => (await states(safe)).every(({ state }) => state === 'delivered'), { withinMs: 60_000, everyMs: 200 });
  assert.equal((await states(safe)).length, safe.length);
  await qd.perform(watchHolders);
  await qd.app.db.write((tx) =>
    tx.query(
      sql`update email.holder set away_seconds = 24 * 3600 where away_seconds > 0 or watched_at is not null and seen_at < kernel.now() - interval '60 seconds'`,
    ),
  );
  await qd.perform(watchHolders);
  for (const { id, state, last_error } of await states(doubtful)) {
    assert.ok(state === 'delivered' || state === 'failed', `${id} is ${state}: accepted, and neither sent nor told`);
    if (state === 'failed') assert.match(last_error ?? '', /only on the disk of a server/);
  }
  const delivered = [...(await states(safe)), ...(await states(doubtful))].filter(({ state }) => state === 'delivered').length;
  assert.equal(sink.count, delivered, 'nothing was sent twice');
  t.diagnostic(`${safe.length} safe, ${doubtful.length} within two seconds of a kill, ${delivered} delivered`);
});
