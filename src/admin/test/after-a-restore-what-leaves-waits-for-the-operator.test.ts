import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fakeSmtp } from '../../../test/fakes/smtp.ts';
import { caller, quarterdeck } from '../../../test/harness/index.ts';
import { urlOf } from '../../../test/harness/postgres.ts';
import { eventually } from '../../../test/harness/process.ts';
import { makeDestinationLookup } from '../../areas/email/inbound/engine/destinations.ts';
import { openReturnPaths } from '../../areas/email/outbound/engine/return-path.ts';
import { letter, mailScene, untilState } from '../../areas/email/test/mail-scene.ts';
import { endpointAt, listening, ofLoopback } from '../../areas/email/webhooks/test/listening.ts';
import { covered, made, user } from '../../areas/oncall/test/support.ts';
import { sql } from '../../kernel/sql.ts';
import { adminHere, emptyDatabase, scratch } from './support.ts';

test('after a restore everything that leaves waits until the operator has seen how much it is', { timeout: 120_000 }, async (t) => {
  const relay = await fakeSmtp(t);
  relay.behave({ MAIL: '451 4.3.0 later' });
  const endpoint = await listening(t);
  endpoint.answer = (response) => response.writeHead(503).end();
  let isOpen = false;
  const { qd, sink, key, env } = await mailScene(
    t,
    { at: (stage, line) => (stage === 'rcpt' && !isOpen && line.includes('<late') ? '451 4.7.1 later' : undefined) },
    { env: { ...ofLoopback, QUARTERDECK_SMTP_RELAY: relay.url } },
  );
  await endpointAt(qd.owner, endpoint.url, 'email.delivery_delayed', 'email.delivered');
  const send = async (by: typeof key, to: string) => ((await by.post('/email/send', letter({ to: [to] }))).body as { id: string }).id;
  const late = [await send(key, 'late1@far.example'), await send(key, 'late2@far.example')];
  for (const id of late) await untilState(qd, id, 'deferred');
  const { service } = await covered(qd.owner, { steps: [[user(qd.owner, 'Ada'), 3600]] });
  await made(qd.owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await eventually(async () => endpoint.told.length > 0);

  const directory = await scratch(t);
  const target = join(directory, 'backup');
  const taken = await adminHere(['backup', target], { QUARTERDECK_DATABASE_URL: urlOf(qd.connection), QUARTERDECK_DATA: qd.dataDir });
  assert.equal(taken.code, 0, taken.err);
  // What the lost server still sent: somebody else's report comes back to this address.
  await untilState(qd, await send(key, 'carol@far.example'), 'delivered');
  const lostPath = sink.messages.at(-1)!.from;
  const secret = key.secret;
  const dataDir = join(directory, 'elsewhere');
  await cp(join(qd.dataDir, 'secret.key'), join(dataDir, 'secret.key'), { recursive: true });
  await qd.stop();

  const { connection } = await emptyDatabase(t);
  const admin = (...args: string[]) => adminHere(args, { QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_DATA: dataDir });
  const restored = await admin('restore', target);
  assert.equal(restored.code, 0, restored.err);
  assert.match(restored.err, /nothing leaves from here yet/);

  isOpen = true;
  relay.behave('accept');
  endpoint.answer = (response) => response.writeHead(204).end();
  const heard = endpoint.told.length;
  const sent = sink.count;
  const again = await quarterdeck(t, { connection, dataDir, env });
  const owner = caller(again.url, qd.owner.key);
  const fresh = await send(caller(again.url, secret) as typeof key, 'fresh@far.example');
  await again.clock.advance('2h');
  assert.match(await (await fetch(`${again.url}/readyz`)).text(), /^ready: .*\n.*quarterdeck admin restore go/);
  const doctor = await admin('doctor', '--json');
  const finding = (JSON.parse(doctor.out) as { check: string; verdict: string; says: string }[]).find((f) => f.check === 'restore')!;
  assert.equal(finding.verdict, 'warn');
  assert.match(finding.says, /3 recipients of mail/);
  await sleep(1_500); // longer than anything looks for what is due
  assert.deepEqual([sink.count, relay.received.length, endpoint.told.length], [sent, 0, heard], 'nothing has left');
  const refused = await admin('restore', 'go');
  assert.equal(refused.code, 11);
  assert.match(refused.out, /3 +recipients of mail\n/);
  assert.match(refused.out, /1 +pages to people on call/);
  assert.match(refused.out, /[0-9]+ +webhook deliveries/);
  assert.match(refused.err, /--yes/);

  const go = await admin('restore', 'go', '--yes');
  assert.equal(go.code, 0, go.err);
  for (const id of [...late, fresh])
    await eventually(async () => (await owner.get(`/email/messages/${id}`)).body.message.state === 'delivered');
  await eventually(async () => relay.received.length === 1);
  await eventually(async () => endpoint.told.length > heard);
  assert.doesNotMatch(await (await fetch(`${again.url}/readyz`)).text(), /restore go/);
  assert.match((await admin('restore', 'go')).out, /nothing waits/);

  // Numbers of recipients jump; and where one is given twice all the same, the return path of the other one is not taken for it.
  const { app } = again;
  const idOf = (local: string) => Number.parseInt(/^b\+([0-9a-z]+)\./.exec(local)![1]!, 36);
  const [lostLocal = '', domain = ''] = lostPath.split('@');
  const recipientOf = async (message: string) =>
    (await app.db.read((tx) => tx.query(sql`select id::text as id from email.recipient where message_id = ${message}`))).rows[0]!
      .id as string;
  assert.ok(Number(await recipientOf(fresh)) > idOf(lostLocal) + 1_000_000);
  const book = makeDestinationLookup(app, await openReturnPaths(app));
  assert.equal((await book.find(lostLocal, domain)).kind, 'unknown');
  await app.db.write((tx) => tx.query(sql`select setval(pg_get_serial_sequence('email.recipient', 'id'), ${idOf(lostLocal) - 1})`));
  const twin = await send(caller(again.url, secret) as typeof key, 'dave@far.example');
  await eventually(async () => (await owner.get(`/email/messages/${twin}`)).body.message.state === 'delivered');
  assert.equal(Number(await recipientOf(twin)), idOf(lostLocal));
  assert.equal((await book.find(lostLocal, domain)).kind, 'unknown', 'a report about Carol is not one about Dave');
  const ownLocal = sink.messages.at(-1)!.from.split('@')[0]!;
  assert.deepEqual(await book.find(ownLocal, domain), {
    kind: 'report',
    org: qd.owner.orgId,
    messageId: twin,
    recipientId: idOf(lostLocal),
  });

  // Mail of an earlier release may still come back, to a return path without that part.
  const place = 'email.return_path_key.sealed.true';
  const { rows } = await app.db.read((tx) => tx.query(sql`select sealed from email.return_path_key`));
  const secretKey = Buffer.from(app.secrets.unseal(rows[0]!.sealed as Buffer, place), 'base64');
  const id = idOf(lostLocal).toString(36);
  const old = `b+${id}.${createHmac('sha256', secretKey).update(id).digest().subarray(0, 10).toString('hex')}`;
  assert.equal((await book.find(old, domain)).kind, 'report');
});
