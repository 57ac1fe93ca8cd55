import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Db, Tx } from '../../../../kernel/db/index.ts';
import type { JobRun } from '../../../../kernel/jobs/index.ts';
import { sql } from '../../../../kernel/sql.ts';
import { escalate } from '../../engine/escalation/escalate.ts';
import { receiveMonitorAlert } from '../../engine/monitor-alerts.ts';
import { openIncident } from '../../engine/open-incident.ts';
import { pageJob } from '../../engine/page.ts';
import { oncall } from '../../index.ts';
import type { OpenOncall } from '../../open.ts';
import { covered, detail, unresolved, user, ward } from '../support.ts';

/** A server that works nothing off: what happens is what the test does. */
const idle = { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_PUBLIC_URL: 'http://quarterdeck.example' } };

/** Notes every statement. */
function noting(asked: string[]) {
  const notingTx = (tx: Tx): Tx => ({
    ...tx,
    query: (piece) => {
      asked.push(piece.strings.join('?').trim().replaceAll(/\s+/g, ' '));
      return tx.query(piece);
    },
  });
  return {
    notingTx,
    notingDb: (db: Db): Db => ({
      ...db,
      read: (work) => db.read((tx) => work(notingTx(tx))),
      write: (work) => {
        asked.push('begin', 'commit');
        return db.write((tx) => work(notingTx(tx)));
      },
    }),
  };
}

const kinds = (entries: { kind: string }[]) => entries.map((e) => e.kind);

test('an incident opens with its first step: page, jobs and lines are written with it', async (t) => {
  const { app, owner } = await ward(t, idle);
  const steps: Parameters<typeof covered>[1]['steps'] = [
    [user(owner, 'Ada'), 300],
    [user(owner, 'Ada'), 300],
  ];
  const { service } = await covered(owner, { steps });
  const asked: string[] = [];
  const { notingTx } = noting(asked);
  const opening = { serviceId: service.id, serviceName: service.name, title: 'down', description: undefined, origin: 'manual' as const };
  const { id } = await app.db.write((tx) =>
    openIncident(notingTx(tx), owner.orgId, { ...opening, actor: { kind: 'user', label: 'Ada' }, requestId: undefined }),
  );
  // The time and the policy; the person and their wishes; a savepoint, the incident with its page, lines and figures, both jobs.
  assert.equal(asked.length, 7, asked.join('\n'));
  const { pages, timeline, escalation, openedAt } = await detail(owner, id);
  assert.deepEqual(
    pages.map((p: { state: string; dueAt: string }) => [p.state, p.dueAt]),
    [['queued', openedAt]],
  );
  assert.deepEqual(kinds(timeline), ['opened', 'step_fired']);
  assert.equal(Date.parse(escalation.nextAt) - Date.parse(openedAt), 300_000);
  const jobs = await app.db.read((tx) =>
    tx.query(sql`select kind, run_at <= kernel.now() as due from kernel.job where lane = 'page' order by kind`),
  );
  assert.deepEqual(jobs.rows, [
    { kind: 'oncall.page', due: true },
    { kind: 'oncall.step', due: false },
  ]);

  await app.db.write((tx) => escalate(tx, owner.orgId, id, undefined));
  assert.equal((await detail(owner, id)).pages.length, 1, 'a step that fired does not fire again');

  const { service: other } = await covered(owner, { steps });
  asked.length = 0;
  const told = { serviceId: other.id, monitorId: 'mon_1', monitorName: 'shop', status: 'firing' as const, summary: 'no answer' };
  await app.db.write((tx) => receiveMonitorAlert(notingTx(tx), owner.orgId, { ...told, startsAt: '2026-11-01T10:00:00Z' }));
  // The service, the turn and the time; an early end; the alerts known; the live incident and the policy; then as above, and the alert.
  assert.equal(asked.length, 13, asked.join('\n'));
  const [alerted] = (await unresolved(owner)).filter((i: { serviceId: string }) => i.serviceId === other.id);
  assert.deepEqual(kinds((await detail(owner, alerted.id)).timeline), ['opened', 'alert_firing', 'step_fired']);
});

test('a page goes out with three questions to the database', async (t) => {
  const { app, owner, own, smtp } = await ward(t, idle);
  const { service } = await covered(owner, { steps: [[user(owner, 'Ada'), 300]] });
  const { id } = (await owner.post('/oncall/incidents', { serviceId: service.id, title: 'down' })).body;
  const lease = '00000000-0000-4000-8000-000000000001';
  const claimed = await app.db.read((tx) =>
    tx.query(
      sql`update kernel.job set lease = ${lease}, lease_until = kernel.now() + interval '30 s' where kind = 'oncall.page' returning id, key`,
    ),
  );
  const { id: job, key } = claimed.rows[0] as { id: number; key: string };
  const asked: string[] = [];
  const db = noting(asked).notingDb(app.db);
  const run = {
    app,
    db,
    key,
    org: owner.orgId,
    signal: new AbortController().signal,
    fenced: sql`select id from kernel.job where id = ${job} and lease = ${lease} for update`,
    finishBy: async (write: Parameters<JobRun<unknown>['finishBy']>[0]) =>
      (await db.read((tx) => write(tx, sql`delete from kernel.job where id = ${job} and lease = ${lease} returning id`))) > 0,
    finishWith: () => assert.fail('it needs no transaction'),
  } as unknown as JobRun<never>;
  await (pageJob as { run(run: JobRun<never>, own: OpenOncall): Promise<unknown> }).run(run, own(oncall) as OpenOncall);
  // It is about to be sent; what fires; it was sent, its line, and the end of its job.
  assert.equal(asked.length, 3, asked.join('\n'));
  assert.equal(smtp.received.length, 1);
  const { pages, timeline } = await detail(owner, id);
  assert.deepEqual(
    pages.map((p: { state: string; attempts: number }) => [p.state, p.attempts]),
    [['sent', 1]],
  );
  assert.equal(kinds(timeline).filter((kind) => kind === 'page_sent').length, 1);
  const left = await app.db.read((tx) => tx.query(sql`select 1 from kernel.job where kind = 'oncall.page'`));
  assert.equal(left.rowCount, 0);
});
