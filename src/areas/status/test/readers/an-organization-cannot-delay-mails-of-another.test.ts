import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, run } from '../../../../kernel/db/index.ts';
import { batchSize } from '../../engine/announce.ts';
import { eventually, type House, house, incident, page, publish, service } from '../support.ts';

const Mail = Type.Object({ key: Type.String(), seconds: Type.Number() });
const mails = ({ app }: House, org: string) =>
  app.db.read(
    (tx) => rows(tx, Mail)`
      select key, extract(epoch from run_at - created_at)::float8 as seconds from kernel.job
       where kind = 'status.send-update' and org_id = ${org} order by run_at, id`,
  );

/** So many readers of a page, as if they had confirmed. */
const readers = ({ app }: House, slug: string, n: number) =>
  app.db.write(
    (tx) => run(tx)`
      insert into status.subscriber (org_id, page_id, id, address, state, token, token_hash, asked_at, confirmed_at, created_at)
      select p.org_id, p.id, kernel.new_id('sub'), 'reader' || n || '@example.com', 'active', '', sha256((p.id || n)::bytea), c.at, c.at, c.at
        from status.page p, generate_series(1, ${n}::int) n, (select kernel.now() - interval '1 hour' as at offset 0) c where p.slug = ${slug}`,
  );

/** Updates that were published and announced long before: as rows, not by 10,000 requests, with ids that are quickly made. */
const announcedBefore = ({ app }: House, incidentId: string, n: number) =>
  app.db.write(
    (tx) => run(tx)`
      with made as (
        insert into oncall.public_update (org_id, incident_id, id, at, body, by_label)
        select i.org_id, i.id, 'upd_' || lpad(n::text, 26, '0'), c.at - interval '1 minute', 'again', 'x'
          from oncall.incident i, generate_series(1, ${n}::int) n, (select kernel.now() as at offset 0) c
         where i.id = ${incidentId} returning org_id, id)
      insert into status.announced (org_id, update_id, at) select made.org_id, made.id, c.at from made, (select kernel.now() as at offset 0) c`,
  );

test('ten thousand updates of one organization that were announced before cost another’s update nothing', async (t) => {
  const qd = await house(t);
  qd.smtp.behave({ RCPT: '451 4.3.0 later' });
  const other = await qd.organization('other');
  const [ours, theirs] = [await service(qd.owner, 'Web'), await service(other, 'Shop')];
  await page(qd.owner, 'acme', [ours.id]);
  await page(other, 'shop', [theirs.id]);
  await announcedBefore(qd, await incident(qd.owner, ours.id, 'Slow'), 10_050);
  await readers(qd, 'shop', 1);
  await publish(other, await incident(other, theirs.id, 'Down'), 'We are looking.');
  await eventually(async () => (await mails(qd, other.orgId)).length === 1);
});

test('mails to many readers are queued in batches at 20 a second, and another organization’s are sent at once', async (t) => {
  const qd = await house(t);
  qd.smtp.behave({ RCPT: '451 4.3.0 later' });
  const other = await qd.organization('other');
  const [ours, theirs] = [await service(qd.owner, 'Web'), await service(other, 'Shop')];
  await page(qd.owner, 'acme', [ours.id]);
  await page(other, 'shop', [theirs.id]);
  await readers(qd, 'acme', 2 * batchSize + 7);
  await readers(qd, 'shop', 1);
  const slow = await incident(qd.owner, ours.id, 'Slow');
  for (const words of ['We are looking.', 'Still looking.']) await publish(qd.owner, slow, words);
  await publish(other, await incident(other, theirs.id, 'Down'), 'We are looking.');

  const all = 2 * (2 * batchSize + 7);
  await eventually(async () => (await mails(qd, qd.owner.orgId)).length === all);
  const queued = await mails(qd, qd.owner.orgId);
  assert.equal(new Set(queued.map((m) => m.key)).size, all, 'each once');
  const waits = queued.map((m) => m.seconds).sort((a, b) => a - b);
  assert.ok(waits.at(-1)! > 0.8 * (all / 20), `the last leaves after ${waits.at(-1)} s`);
  assert.ok(waits.filter((s) => s < 1).length < 60, 'no burst of them at once');
  await eventually(async () => (await mails(qd, other.orgId)).length === 1);
  assert.ok((await mails(qd, other.orgId))[0]!.seconds < 120, 'tried at once, and again after the relay said later');
});
