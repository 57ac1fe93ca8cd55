import assert from 'node:assert/strict';
import { test } from 'node:test';
import pg from 'pg';
import { eventually } from '../../../../../test/harness/process.ts';
import { takeDatabase } from '../../../oncall/test/support.ts';
import { deliverTo, letterIn, mxScene } from '../../inbound/test/receiving/mx-scene.ts';
import { speakSmtp } from '../smtp-scene.ts';

/** So large that it is an object of its own. */
const large = letterIn().concat('x'.repeat(70).concat('\r\n').repeat(5_000));

test('a large message whose COMMIT answer was lost is recorded with its content, and its sender retries', async (t) => {
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

test('of a large message that came while the database was away nothing is left', async (t) => {
  const { qd, port } = await mxScene(t);
  const { say } = await speakSmtp(t, port);
  for (const line of ['EHLO far.example', 'MAIL FROM:<a@far.example>', 'RCPT TO:<support@in.example.com>', 'DATA']) await say(line);
  const objects = () => Array.fromAsync(qd.app.storage.list('mail/large/'));
  let stored = 0;
  const put = qd.app.storage.put.bind(qd.app.storage);
  t.mock.method(qd.app.storage, 'put', async (...args: Parameters<typeof put>) => {
    const result = await put(...args);
    stored = (await objects()).length;
    return result;
  });
  const giveBack = await takeDatabase(qd);
  assert.match(await say(`${large}.`), /^451 4\.3\.0/);
  assert.equal(stored, 1, 'it came whole');
  await eventually(async () => (await objects()).length === 0);
  await giveBack();
});
