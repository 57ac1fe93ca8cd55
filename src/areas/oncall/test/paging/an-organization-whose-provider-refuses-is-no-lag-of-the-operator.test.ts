import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { failingFor } from '../../../../kernel/jobs/index.ts';
import { pageJob } from '../../engine/page.ts';
import { stepJob } from '../../engine/step.ts';
import { overdueEscalations } from '../../store/incidents.ts';
import { overduePages } from '../../store/pages.ts';
import { lag } from '../../store/statistics.ts';
import { detail, open, phoneWard } from '../phone-support.ts';
import { eventually, made, once } from '../support.ts';

test('a page that its provider neither accepts nor reports is late only for its organization', async (t) => {
  const qd = await phoneWard(t, [{ channel: 'sms', delaySeconds: 0 }]);
  qd.twilio.fail(/Messages\.json/, ...Array.from({ length: 100 }, () => ({ status: 503 })));
  const { id } = await open(qd);
  // The queue may take up a retry after the clock was moved, so it is moved until the next attempt has come.
  for (let attempts = 1; attempts <= 5; attempts++)
    await eventually(
      async () => {
        await qd.clock.advance('30s');
        const [page] = (await detail(qd, id)).pages;
        return page?.error && page.attempts > attempts;
      },
      { everyMs: 300 },
    );
  // Several minutes after it was first due, in doubt since the second attempt.
  await once(qd.owner, id, (i) => /^it is not known/.test(i.pages[0].error));
  const late = await qd.app.db.read(async (tx) => ({ ...(await lag(tx)), failing: await failingFor(tx, 'page', pageJob) }));
  assert.ok(Math.max(late.page, late.escalation, late.failing) <= 60, JSON.stringify(late));
});

test('what one organization has overdue does not hide what another has', async (t) => {
  const qd = await phoneWard(t, [{ channel: 'email', delaySeconds: 86_000 }], { env: { QUARTERDECK_ROLES: 'api' } });
  const { id } = await made(qd.owner.post('/oncall/incidents', { serviceId: qd.service.id, title: 'down' }));
  await qd.app.db.write(async (tx) => {
    for (const [org, incidentId, minutes, most] of [
      [qd.owner.orgId, id, 60, 1500],
      ['org_other', 'inc_other', 5, 1],
    ] as const) {
      if (org !== qd.owner.orgId)
        await run(
          tx,
        )`insert into oncall.incident select (i).* from (select jsonb_populate_record(i, jsonb_build_object('org_id', ${org}::text, 'id', ${incidentId}::text, 'next_at', i.opened_at)) as i from oncall.incident i where i.id = ${id}) x`;
      await run(tx)`
        insert into oncall.page (org_id, id, incident_id, pass, step, user_id, label, channel, rule_index, code, state, due_at)
        select ${org}, 'page_' || n, ${incidentId}, n, 7, 'u', 'u', 'email', 0, '0000', 'queued', kernel.now() - make_interval(mins => ${minutes})
          from generate_series(1, ${most}::int) n`;
    }
    await run(tx)`
      insert into oncall.incident select (x.i).* from (
        select jsonb_populate_record(i, jsonb_build_object('id', 'inc_' || n, 'next_at', kernel.now() - interval '1 hour')) as i
          from oncall.incident i, generate_series(1, 1500) n where i.org_id = ${qd.owner.orgId} and i.id = ${id}) x`;
  });
  await qd.clock.advance('2m');
  const found = await qd.app.db.read(async (tx) => ({
    pages: await overduePages(tx, 30, pageJob),
    walks: await overdueEscalations(tx, 30, stepJob),
  }));
  for (const rows of [found.pages, found.walks]) {
    assert.equal(rows.length, 1000);
    assert.ok(rows.some((r) => r.org_id === 'org_other'));
  }
});
