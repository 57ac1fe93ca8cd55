import assert from 'node:assert/strict';
import { test } from 'node:test';
import { caller } from '../../../../../../test/harness/index.ts';
import { letter, mailScene } from '../../../test/mail-scene.ts';
import { sendingKey } from '../../../test/sending-key.ts';

test('one Idempotency-Key is accepted once in a day', async (t) => {
  const { qd, key, sink } = await mailScene(t);
  const send = (of: string, idempotencyKey: string, body: object = letter()) =>
    caller(qd.url, of).post('/email/send', body, { 'idempotency-key': idempotencyKey });
  const first = await send(key.secret, 'order-7');
  assert.equal(first.status, 202);
  const again = await send(key.secret, 'order-7');
  assert.deepEqual(again.body, first.body);
  assert.equal(again.headers.get('idempotency-replayed'), 'true');
  const other = await send(key.secret, 'order-7', letter({ subject: 'Another' }));
  assert.equal(other.status, 409);

  // At once: one of them is taken, the others are told or get the same answer.
  const racing = await Promise.all(Array.from({ length: 8 }, () => send(key.secret, 'order-8')));
  const made = new Set(racing.filter((a) => a.status === 202).map((a) => (a.body as { id: string }).id));
  assert.equal(made.size, 1);
  for (const { status } of racing) assert.ok(status === 202 || status === 409, String(status));

  // Another organization's key of the same name is another one.
  const b = await sendingKey(qd, await qd.organization('bravo'), 'bravo.example');
  const foreign = await send(b.secret, 'order-7', letter({ from: 'x@bravo.example' }));
  assert.equal(foreign.status, 202);
  assert.notDeepEqual(foreign.body, first.body);

  // What was refused is not kept.
  assert.equal((await send(key.secret, 'order-9', letter({ from: 'x@nobody.example' }))).status, 403);
  assert.equal((await send(key.secret, 'order-9')).status, 202);

  await qd.clock.advance('25h');
  const later = await send(key.secret, 'order-7');
  assert.equal(later.status, 202);
  assert.notDeepEqual(later.body, first.body);
  await sink.received(5);
  assert.equal(sink.messages.length, 5);
});
