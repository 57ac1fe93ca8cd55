import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { endpointAt, listening, ofLoopback, suppressAnAddress, untilDelivery, untilNext } from './listening.ts';

test('an attempt overwritten by the late start of an earlier one is repeated, and does not stay in flight for ever', async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'suppression.created');

  // An abandoned statement reaches the database during the request.
  endpoint.answer = async (response) => {
    await qd.app.db.read((tx) => tx.query(sql`update email.delivery set run = gen_random_uuid() where state = 'delivering'`));
    response.writeHead(204).end();
  };
  await suppressAnAddress(qd.owner);
  await endpoint.heard(1);

  const inSeconds = await untilNext(qd);
  assert.ok(inSeconds <= 60, `${inSeconds} s`);
  endpoint.answer = (response) => response.writeHead(204).end();
  await qd.clock.advance('61s');
  const [first, again] = await endpoint.heard(2);
  assert.equal(again!.id, first!.id);
  const done = await untilDelivery(qd.owner, (d) => d.state === 'delivered');
  assert.equal(done.attempts, 1, 'the repetition is the same attempt');
});
