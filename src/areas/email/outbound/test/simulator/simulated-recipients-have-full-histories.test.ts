import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sql } from '../../../../../kernel/sql.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { endpointAt, listening } from '../../../webhooks/test/listening.ts';
import { suppressions } from '../feedback/reported.ts';

test('simulated recipients have full histories without the network, and no address is suppressed', async (t) => {
  const { qd, key, sink, dns } = await mailScene(t);
  const endpoint = await listening(t);
  await endpointAt(
    ...([
      qd.owner,
      endpoint.url,
      'email.sent',
      'email.delivered',
      'email.bounced',
      'email.delivery_delayed',
      'email.complained',
      'email.suppressed',
    ] as const),
    'suppression.created',
  );
  const send = async (name: string) =>
    ((await key.post('/email/send', letter({ to: [`${name}@Simulator.Invalid`] }))).body as { id: string }).id;
  const heard = (id: string) => endpoint.told.filter(({ event }) => event.data.messageId === id).map(({ event }) => event.type);

  const delivered = await send('delivered+signup');
  const bounced = await send('bounced');
  const unknown = await send('whoever');
  const complained = await send('complained+42');
  const suppressed = await send('suppressed');
  const deferred = await send('deferred');

  await untilState(qd, delivered, 'delivered');
  const { events } = await untilState(qd, bounced, 'bounced');
  assert.deepEqual(
    events.map(({ kind, bounceType }) => [kind, bounceType]),
    [['bounced', 'hard']],
  );
  await untilState(qd, unknown, 'bounced');
  await untilState(qd, complained, 'complained');
  await untilState(qd, suppressed, 'suppressed');
  await untilState(qd, deferred, 'deferred');
  await qd.clock.advance('2m');
  await untilState(qd, deferred, 'delivered');

  await endpoint.heard(11);
  assert.deepEqual(heard(delivered).sort(), ['email.delivered', 'email.sent']);
  assert.deepEqual(heard(bounced), ['email.bounced']);
  assert.deepEqual(heard(complained).sort(), ['email.complained', 'email.delivered', 'email.sent']);
  assert.deepEqual(heard(suppressed), ['email.suppressed']);
  assert.deepEqual(heard(deferred).sort(), ['email.delivered', 'email.delivery_delayed', 'email.sent']);

  assert.deepEqual(await suppressions(qd), []);
  const { rows } = await qd.app.db.read((tx) => tx.query(sql`select * from email.sending_hour`));
  assert.deepEqual(rows, []);
  assert.equal(sink.messages.length, 0);
  assert.deepEqual(
    dns.asked.filter((question) => question.includes('simulator')),
    [],
  );
});
