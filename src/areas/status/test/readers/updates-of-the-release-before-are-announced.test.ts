import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, run } from '../../../../kernel/db/index.ts';
import { deleteExpired, enqueueMissedUpdates } from '../../engine/announce.ts';
import { eventually, type House, house, incident, page, publish, service } from '../support.ts';

const Count = Type.Object({ n: Type.Integer() });
const mailsOf = async ({ app }: House, words: string) =>
  (await app.db.read(
    (tx) => row(tx, Count)`
      select count(*)::int as n from kernel.job j join oncall.public_update u on j.payload->>'updateId' = u.id
       where j.kind = 'status.send-update' and u.body = ${words}`,
  ))!.n;
const untold = async ({ app }: House) =>
  (await app.db.read((tx) => row(tx, Count)`select count(*)::int as n from kernel.job where kind = 'status.announce-update'`))!.n;

/** As a server of the release before does it: a row, and nothing else. */
const publishPlainly = ({ app }: House, incidentId: string, words: string, copies: number, ago = '1 minute') =>
  app.db.write(
    (tx) => run(tx)`
      insert into oncall.public_update (org_id, incident_id, id, at, body, by_label)
      select org_id, id, kernel.new_id('upd'), kernel.now() - ${ago}::interval, ${words}, 'x' from oncall.incident, generate_series(1, ${copies}::int)
       where id = ${incidentId}`,
  );

test('an update without a job is announced once; an announced or old one is not', async (t) => {
  const qd = await house(t);
  const { owner, app } = qd;
  qd.smtp.behave({ RCPT: '451 4.3.0 later' });
  const web = await service(owner, 'Web');
  await page(owner, 'acme', [web.id]);
  await app.db.write(
    (tx) => run(tx)`
      insert into status.subscriber (org_id, page_id, id, address, state, token, token_hash, asked_at, confirmed_at, created_at)
      select org_id, id, kernel.new_id('sub'), 'reader@example.com', 'active', '', sha256('reader'), c.at, c.at, c.at
        from status.page, (select kernel.now() - interval '2 days' as at offset 0) c`,
  );
  const id = await incident(owner, web.id, 'Slow');
  await publish(owner, id, 'ours');
  await publishPlainly(qd, id, 'theirs', 250);
  await publishPlainly(qd, id, 'yesterday', 1, '25 hours');

  const { signal } = new AbortController();
  await enqueueMissedUpdates(app.db, signal);
  await eventually(async () => (await mailsOf(qd, 'theirs')) === 250);
  await eventually(async () => (await mailsOf(qd, 'ours')) === 1 && (await untold(qd)) === 0);
  assert.equal(await enqueueMissedUpdates(app.db, signal), 0, 'each has been announced');

  // A clock that is far ahead for a while has old announcements forgotten, but not these.
  await app.db.write((tx) => deleteExpired(tx));
  await qd.clock.advance('9d');
  await app.db.write((tx) => deleteExpired(tx));
  await qd.clock.advance('-9d');
  assert.equal(await enqueueMissedUpdates(app.db, signal), 0);
  assert.equal(await mailsOf(qd, 'yesterday'), 0);
});

test('a server that starts finds them by itself', async (t) => {
  const qd = await house(t);
  const web = await service(qd.owner, 'Web');
  await page(qd.owner, 'acme', [web.id]);
  const id = await incident(qd.owner, web.id, 'Slow');
  await publishPlainly(qd, id, 'theirs', 1);
  await qd.clock.advance('2m');
  await eventually(async () => {
    const announced = await qd.app.db.read((tx) => row(tx, Count)`select count(*)::int as n from status.announced where done`);
    return announced!.n === 1;
  });
});
