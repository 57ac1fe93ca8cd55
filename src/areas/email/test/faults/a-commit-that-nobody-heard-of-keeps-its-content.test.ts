import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { deliverTo, letterIn, mxScene } from '../receiving/mx-scene.ts';

/** So large that it is an object of its own. */
const large = letterIn().concat('x'.repeat(70).concat('\r\n').repeat(5_000));

test('a large message whose COMMIT was not heard of is told with its content, and its sender comes again', async (t) => {
  const { qd, port, endpoint } = await mxScene(t);
  type Query = (this: object, ...args: unknown[]) => Promise<unknown>;
  const query = pg.Client.prototype.query as unknown as Query;
  const taking = new WeakSet<object>();
  let isLost = false;
  t.mock.method(pg.Client.prototype, 'query', function (this: object, ...args: unknown[]) {
    const text = typeof args[0] === 'string' ? args[0] : String((args[0] as { text?: string })?.text ?? '');
    if (text.includes('insert into email.arrival')) taking.add(this);
    const answered = query.apply(this, args);
    if (isLost || !taking.has(this) || !/^commit/i.test(text)) return answered;
    isLost = true;
    return answered.then(() => {
      throw new Error('Connection terminated unexpectedly');
    });
  } as never);

  assert.match(await deliverTo(t, port, { message: large }), /^451 4\.3\.0/);
  assert.ok(isLost);
  await qd.clock.advance('61s');
  const [told] = await endpoint.heard(1);
  assert.deepEqual([told!.event.data.subject, told!.event.data.problem], ['Help', undefined]);
  const [{ id }] = (await qd.owner.get('/email/messages?direction=receive')).body.messages;
  const { body } = await qd.owner.get(`/email/messages/${id}/content`);
  assert.ok(body.endsWith(large));
});
