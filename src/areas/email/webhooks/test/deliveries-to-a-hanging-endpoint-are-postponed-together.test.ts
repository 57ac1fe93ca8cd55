import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Quarterdeck, quarterdeck } from '../../../../../test/harness/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { endpointAt, listening, ofLoopback } from './listening.ts';

const many = 3_000;

test('deliveries to a hanging endpoint are postponed together, not claimed one by one', { timeout: 120_000 }, async (t) => {
  const qd = await quarterdeck(t, { env: ofLoopback });
  const hanging = await listening(t);
  const unanswered: ServerResponse[] = [];
  hanging.answer = (response) => void unanswered.push(response);
  const { id } = await endpointAt(qd.owner, hanging.url, 'email.failed');
  await addDue(qd, id);
  await hanging.heard(4);
  const now = performance.now.bind(performance);
  t.mock.method(performance, 'now', () => now() + 3_000); // an endpoint silent for 3 s hangs

  let figures = await readJobs(qd);
  for (let tries = 0; figures.due > 0 && tries < 600; tries++) {
    await sleep(100);
    figures = await readJobs(qd);
  }
  assert.equal(figures.due, 0, 'all of it waits for its turn, which comes later');
  assert.equal(figures.jobs, many, 'nothing of it is gone');
  assert.ok(figures.claims < many / 4, `${figures.claims} claims for ${many} that cannot be delivered now`);
  assert.ok(figures.soonest > -1 && figures.latest <= 720, 'after 12 minutes at the latest');
  assert.ok(figures.told > many / 2, 'each says why it waits');
  for (const response of unanswered) response.destroy(); // else the worker, when it stops, waits for them
});

/** As many as an endpoint would be told of in a busy minute. */
const addDue = ({ app }: Quarterdeck, endpointId: string) =>
  app.db.write((tx) =>
    tx.query(sql`
      with endpoint as (select org_id, id from email.webhook where id = ${endpointId}),
           event as (insert into email.webhook_event (org_id, id, type, payload, created_at)
             select org_id, 'evt_many', 'email.failed', '{}', kernel.now() from endpoint returning id),
           delivery as (insert into email.delivery (org_id, endpoint_id, event_id, event_type, state, created_at)
             select w.org_id, w.id, e.id, 'email.failed', 'pending', kernel.now() from endpoint w, event e, generate_series(1, ${many}) returning id, org_id)
      insert into kernel.job (lane, kind, key, payload, org_id, run_at, created_at)
      select 'webhook', 'email.deliver-webhook', id::text, jsonb_build_object('id', id, 'endpointId', ${endpointId}::text), org_id, kernel.now(), kernel.now()
        from delivery`),
  );

interface Figures {
  jobs: number;
  due: number;
  claims: number;
  soonest: number;
  latest: number;
  told: number;
}

const readJobs = async ({ app }: Quarterdeck): Promise<Figures> =>
  (
    await app.db.read((tx) =>
      tx.query(sql`
        select count(*)::int as jobs, sum(attempts)::int as claims, count(*) filter (where run_at <= kernel.now() and lease is null)::int as due,
               min(extract(epoch from run_at - kernel.now())) filter (where lease is null)::float8 as soonest,
               max(extract(epoch from run_at - kernel.now()))::float8 as latest, count(*) filter (where last_error like '%slow%')::int as told
          from kernel.job where kind = 'email.deliver-webhook'`),
    )
  ).rows[0] as unknown as Figures;
