import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { row, rows, run } from '../../../../kernel/db/index.ts';
import { enqueue } from '../../../../kernel/jobs/index.ts';
import { pageJob } from '../../engine/page.ts';
import { covered, eventually, made, mails, user, ward } from '../support.ts';

const Written = Type.Object({ state: Type.String(), count: Type.Integer() });

test('very many pages to a removed member are canceled in slices, and none goes out meanwhile', async (t) => {
  const qd = await ward(t);
  const { owner, app, smtp } = qd;
  const ada = await qd.member(owner, 'admin', 'ada@example.com');
  await made(ada.put('/oncall/me/settings', { rules: [0, 86_400].map((delaySeconds) => ({ channel: 'email', delaySeconds })) }));
  const { service } = await covered(owner, { steps: [[user(ada), 86_400]] });
  const { id } = await made(owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await mails(smtp, ada.email, 1);
  await app.db.write(
    (tx) => run(tx)`
      insert into oncall.page
      select (jsonb_populate_record(p, jsonb_build_object('id', left(p.id, 8) || lpad(n::text, 6, '0'), 'rule_index', 10 + n))).*
        from oncall.page p, generate_series(1, 1199) n where p.state = 'queued'`,
  );
  await made(owner.delete(`/organization/members/${ada.userId}`));
  const written = () =>
    app.db.read(
      (tx) => rows(tx, Written)`select state, count(*)::int as count from oncall.page where state <> 'sent' group by state, xmin`,
    );
  await eventually(async () => (await written()).every((w) => w.state === 'canceled'));
  const all = await written();
  assert.equal(
    all.reduce((sum, w) => sum + w.count, 0),
    1_200,
  );
  for (const { count } of all) assert.ok(count <= 500, `${count} in one transaction`);

  // A page whose slice is still to come, and which is due: its own job cancels it.
  await app.db.write(async (tx) => {
    const page = (await row(tx, Type.Object({ id: Type.String() }))`
      update oncall.page set state = 'queued', ended_at = null, due_at = kernel.now()
       where id = (select min(id) from oncall.page where state = 'canceled') returning id`)!;
    await enqueue(tx, pageJob, { key: page.id, org: owner.orgId });
  });
  await eventually(async () => (await written()).every((w) => w.state === 'canceled'));
  const { timeline } = await made(owner.get(`/oncall/incidents/${id}`));
  assert.match(timeline.at(-1).message, /^an email to .* is canceled: they were removed from the organization$/i);
  assert.equal(smtp.received.length, 1);
});
