import assert from 'node:assert/strict';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { fakeS3 } from '../../../../../test/fakes/s3.ts';
import { caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { adminHere, emptyDatabase, quarterdeckCli, scratch } from '../../../../admin/test/support.ts';
import { type Connection, txOn, types } from '../../../../kernel/db/index.ts';
import { countQueue } from '../../outbound/store/queue-counts.ts';
import { type MailScene, mailScene, untilState } from '../mail-scene.ts';
import { speakSmtp } from '../smtp-scene.ts';
import { ownSmtpPort } from '../submit-by-smtp.ts';

/** So much is there before the backup begins; from then on mail comes more slowly. */
const enough = 30;

/** Programs that hand in mail until they are told to stop: the ids of what was accepted, by their subjects. */
async function handInAll(t: TestContext, { key }: MailScene, port: number) {
  const accepted = new Map<string, string>();
  let going = true;
  const one = async (n: number) => {
    const { say, beginMessage, socket } = await speakSmtp(t, port);
    for (let i = 0; going; i++) {
      const subject = `s${n}-${i}`;
      // Every fifth waits at the other side; every tenth is an object of its own.
      const to = i % 5 === 4 ? `later-${subject}@far.example` : `${subject}@far.example`;
      if (i === 0) await beginMessage(key.secret, [to]);
      else for (const line of ['MAIL FROM:<ada@example.com>', `RCPT TO:<${to}>`, 'DATA']) await say(line);
      const filling = i % 10 === 9 ? 'x'.repeat(70).concat('\r\n').repeat(4_000) : '';
      const said = await say(`From: ada@example.com\r\nSubject: ${subject}\r\n\r\nthe body of ${subject}\r\n${filling}.`);
      const id = /^250 .*queued as (msg_\S+)/.exec(said)?.[1];
      assert.ok(id, said);
      accepted.set(subject, id);
      await sleep(accepted.size < enough ? 1 : 150);
    }
    socket.destroy();
  };
  const all = Promise.all([0, 1, 2].map(one));
  return {
    accepted,
    stop: async () => {
      going = false;
      await all;
    },
  };
}

async function backUpAndRestore(t: TestContext, admin: typeof adminHere, storage: Record<string, string>) {
  const smtp = await ownSmtpPort();
  const refusals = { at: (_: string, line: string) => (line.includes('<later-') ? '451 4.3.0 later' : undefined) };
  const scene = await mailScene(t, refusals, { env: { ...storage, ...smtp.env } });
  const { qd, sink, env } = scene;
  const directory = await scratch(t);
  const target = join(directory, 'backup');
  const load = await handInAll(t, scene, smtp.port);
  while (load.accepted.size < enough) await sleep(5);
  const before = new Map(load.accepted);
  const made = await admin(['backup', target], {
    ...storage,
    QUARTERDECK_DATABASE_URL: urlOf(qd.connection),
    QUARTERDECK_DATA: qd.dataDir,
  });
  const during = load.accepted.size;
  await load.stop();
  assert.equal(made.code, 0, made.err);
  assert.ok(during > before.size, 'mail was accepted while the backup was made');

  const { connection } = await emptyDatabase(t);
  const dataDir = join(directory, 'elsewhere');
  await cp(join(qd.dataDir, 'secret.key'), join(dataDir, 'secret.key'), { recursive: true });
  await qd.stop();
  const restored = await adminHere(['restore', target], {
    ...storage,
    QUARTERDECK_DATABASE_URL: urlOf(connection),
    QUARTERDECK_DATA: dataDir,
  });
  assert.equal(restored.code, 0, restored.err);
  assert.deepEqual(...(await queueFiguresOf(connection)));

  sink.behave({});
  const go = await adminHere(['restore', 'go', '--yes'], { QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_DATA: dataDir });
  assert.equal(go.code, 0, go.err);
  const again = await quarterdeck(t, { connection, dataDir, env });
  const owner = caller(again.url, qd.owner.key);
  for (const [subject, id] of before) {
    const { status, body } = await owner.get(`/email/messages/${id}/content`);
    assert.equal(status, 200, `${subject}: ${JSON.stringify(body)}`);
    assert.ok(String(body).includes(`the body of ${subject}\r\n`), subject);
  }
  // Another machine goes on with what was not finished.
  await again.clock.advance('10m');
  for (const id of before.values()) await untilState(again, id, 'delivered');
  const taken = new Set(sink.messages.flatMap(({ to }) => to));
  for (const subject of before.keys()) assert.ok(taken.has(`${subject}@far.example`) || taken.has(`later-${subject}@far.example`), subject);
}

/** How much is under way: as it is kept, and as it is. */
async function queueFiguresOf(connection: Connection) {
  const client = new pg.Client({ ...connection, types });
  await client.connect();
  const kept = (await countQueue(txOn(client))).map(({ state, recipients }) => ({ state, recipients }));
  const counted = `select state, count(*)::int as recipients from email.recipient where done_at is null group by org_id, state order by org_id, state`;
  const { rows } = await client.query(counted);
  await client.end();
  return [kept, rows] as const;
}

test('a backup under load holds every accepted message, and what was not sent yet is sent where it is restored', (t) =>
  backUpAndRestore(t, (args, env) => quarterdeckCli(['admin', ...args], env), {}));

test('so does one with S3, where the last minute of mail is not an object yet', async (t) => {
  const s3 = await fakeS3();
  t.after(() => s3.stop());
  await backUpAndRestore(t, adminHere, {
    QUARTERDECK_STORAGE: `s3://${s3.bucket}`,
    QUARTERDECK_S3_ENDPOINT: s3.endpoint,
    QUARTERDECK_S3_REGION: s3.region,
    QUARTERDECK_S3_ACCESS_KEY: s3.accessKeyId,
    QUARTERDECK_S3_SECRET_KEY: s3.secretAccessKey,
  });
});
