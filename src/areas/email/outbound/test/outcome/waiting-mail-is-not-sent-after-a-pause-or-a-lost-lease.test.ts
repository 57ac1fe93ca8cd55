import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { smtpSink } from '../../../../../../test/fakes/smtp-sink.ts';
import { eventually } from '../../../../../../test/harness/process.ts';
import { operator } from '../../../../../identity/audit.ts';
import { run } from '../../../../../kernel/db/index.ts';
import { posture } from '../../../index.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { untilLooked, untilRenewed } from '../../../test/statements.ts';

/** One message is being sent, until its session breaks; another waits behind it for the one connection of a site on trial. */
async function queueOfTwo(t: TestContext) {
  const scene = await mailScene(
    t,
    { at: (stage, line) => (stage === 'rcpt' && line.includes('<slow@') ? 'stall' : undefined) },
    { env: { QUARTERDECK_METRICS_TOKEN: 'scrape' } },
  );
  const { sink, key } = scene;
  const send = async (to: string) => ((await key.post('/email/send', letter({ to: [to] }))).body as { id: string }).id;
  const slow = await send('slow@far.example');
  await eventually(async () => sink.commands.some((line) => line.includes('<slow@')));
  const second = await send('second@far.example');
  /** Ends the session; later connections reach the returned server. */
  const breakSession = async () => {
    assert.equal(sink.sessions, 1, 'the second waits for the only connection');
    sink.close();
    return smtpSink(t, { port: sink.port });
  };
  return { ...scene, slow, second, breakSession };
}

test('mail that waits for a connection is queued again when its organization is paused', async (t) => {
  const { qd, slow, second, breakSession } = await queueOfTwo(t);
  await qd.app.db.write((tx) => posture.pauseSending(tx, operator(qd.owner.orgId), 'complaints'));
  await untilLooked(t, qd);
  const sink = await breakSession();
  await untilState(qd, slow, 'deferred');
  await untilState(qd, second, 'queued');
  await untilLooked(t, qd);
  await untilState(qd, second, 'queued');
  assert.ok(!sink.commands.some((line) => line.startsWith('RCPT')), 'nothing was sent');
  await qd.app.db.write((tx) => posture.resumeSending(tx, operator(qd.owner.orgId)));
  await untilState(qd, second, 'delivered');
});

test('mail that waits for a connection is not sent once another process holds its lease', async (t) => {
  const { qd, slow, second, breakSession } = await queueOfTwo(t);
  await qd.app.db.write(
    (tx) => run(tx)`
    update email.recipient set lease = gen_random_uuid(), lease_until = kernel.now() + interval '1 hour' where message_id = ${second}`,
  );
  await untilRenewed(t, qd);
  const sink = await breakSession();
  await untilState(qd, slow, 'deferred');
  // It was dropped here, and the database refused its outcome.
  const figures = async () => (await fetch(`${qd.url}/metrics`, { headers: { authorization: 'Bearer scrape' } })).text();
  await eventually(async () => /^quarterdeck_email_lost_leases 1$/m.test(await figures()));
  assert.ok(!sink.commands.some((line) => line.startsWith('RCPT')), 'nothing was sent');
});
