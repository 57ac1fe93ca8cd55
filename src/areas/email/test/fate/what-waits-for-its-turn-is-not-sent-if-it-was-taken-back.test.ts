import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { operator } from '../../../../identity/audit.ts';
import { run } from '../../../../kernel/db/index.ts';
import { posture } from '../../index.ts';
import { letter, mailScene, untilState } from '../mail-scene.ts';

/** One message is being sent, until its session breaks; another waits behind it for the one connection of a site on trial. */
async function queueOfTwo(t: Parameters<typeof mailScene>[0]) {
  const scene = await mailScene(t, {
    at: (stage, line) => (stage === 'rcpt' && line.includes('<slow@') ? { drip: 'no reply at all, said slowly', everyMs: 100 } : undefined),
  });
  const send = async (to: string) => ((await scene.key.post('/email/send', letter({ to: [to] }))).body as { id: string }).id;
  const slow = await send('slow@far.example');
  await sleep(300);
  return { ...scene, slow, second: await send('second@far.example') };
}

test('what waits for its turn is put back when its organization is paused', async (t) => {
  const { qd, sink, slow, second } = await queueOfTwo(t);
  await qd.app.db.write((tx) => posture.pauseSending(tx, operator(qd.owner.orgId), 'complaints'));
  await sleep(1_500); // the queue has looked at least once
  await untilState(qd, slow, 'deferred');
  await untilState(qd, second, 'queued');
  await sleep(500);
  assert.equal(sink.messages.length, 0);
  await qd.app.db.write((tx) => posture.resumeSending(tx, operator(qd.owner.orgId)));
  await untilState(qd, second, 'delivered');
});

test('what waits for its turn is not sent when another process has it by then', async (t) => {
  const { qd, sink, slow, second } = await queueOfTwo(t);
  await qd.app.db.write(
    (tx) => run(tx)`
    update email.recipient set lease = gen_random_uuid(), lease_until = kernel.now() + interval '1 hour' where message_id = ${second}`,
  );
  await qd.clock.advance('1s'); // leases are renewed
  await untilState(qd, slow, 'deferred');
  await sleep(500);
  assert.equal(sink.messages.length, 0);
});
