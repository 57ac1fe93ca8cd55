import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import Type from 'typebox';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { rows, run } from '../../../../kernel/db/index.ts';
import { covered, eventually, made, user, type Ward, ward } from '../support.ts';

const Found = Type.Object({ id: Type.String(), status: Type.String(), lines: Type.Integer() });
const incidents = ({ app }: Ward) =>
  app.db.read(
    (tx) => rows(tx, Found)`
      select i.id, i.status, (select count(*) from oncall.timeline t where t.org_id = i.org_id and t.incident_id = i.id and t.kind = 'walk_restarted')::int as lines
        from oncall.incident i order by i.id`,
  );

test('every incident of a removed member is handed on, also when the server stops in the middle', async (t) => {
  let release = () => {};
  t.after(() => release());
  const { connection } = await freshDatabase();
  const dataDir = await mkdtemp(join(tmpdir(), 'qdd-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const first = await ward(t, { connection, dataDir });
  const { owner, app } = first;
  const ada = await first.member(owner, 'admin', 'ada@example.com');
  const { service } = await covered(owner, { steps: [[user(owner), 86_400]] });
  const { id } = await made(ada.post('/oncall/incidents', { serviceId: service.id, title: 'down' }));
  await made(ada.post(`/oncall/incidents/${id}/acknowledge`));
  await app.db.write(
    (tx) => run(tx)`
      insert into oncall.incident
      select (jsonb_populate_record(i, jsonb_build_object('id', 'inc_zz' || lpad(n::text, 6, '0')))).* from oncall.incident i, generate_series(1, 229) n`,
  );

  // The 190th is held, so the fifth slice waits while the server stops.
  const released = new Promise<void>((done) => {
    release = done;
  });
  const holding = app.db.write(async (tx) => {
    await run(tx)`select from oncall.incident where id = 'inc_zz000190' for update`;
    await released;
  });
  await made(owner.delete(`/organization/members/${ada.userId}`));
  const audited = (await made(owner.get('/organization/audit'))).entries.find(
    (e: { action: string }) => e.action === 'organization.member.remove',
  );
  assert.equal(audited.detail.oncall.length, 20);
  assert.match(audited.detail.oncall[0], /^further incidents of theirs are handed on/);
  assert.equal(audited.detail.oncall.at(-1), 'there are 82 changes more');
  await eventually(async () => (await incidents(first)).filter((i) => i.status === 'open').length >= 175, { withinMs: 60_000 });
  const stopping = first.stop();
  release();
  await Promise.all([holding, stopping]);

  const second = await ward(t, { connection, dataDir });
  await eventually(async () => (await incidents(second)).every((i) => i.status === 'open'));
  const all = await incidents(second);
  assert.equal(all.length, 230);
  assert.deepEqual(new Set(all.map((i) => i.lines)), new Set([1]));
  assert.equal(await second.app.db.read((tx) => run(tx)`select from kernel.job where kind = 'oncall.leave'`), 0);
});
