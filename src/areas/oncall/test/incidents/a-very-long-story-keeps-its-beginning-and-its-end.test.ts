import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { made, service } from '../support.ts';

test('a very long story keeps its beginning and its end, and says that it is cut', async (t) => {
  const qd = await quarterdeck(t);
  const { owner } = qd;
  const { id: serviceId } = await service(owner);
  const { id } = await made(owner.post('/oncall/incidents', { serviceId, title: 'down for weeks' }));
  await qd.app.db.write(async (tx) => {
    await run(tx)`
      insert into oncall.timeline (org_id, incident_id, id, at, kind, message)
      select ${owner.orgId}, ${id}, 'evt_' || n, kernel.now() + make_interval(secs => n), 'alert_firing', 'entry ' || n from generate_series(1, 1500) n`;
    await run(tx)`
      insert into kernel.audit (id, org_id, at, actor, actor_label, action, target, detail)
      select kernel.new_id('aud'), ${owner.orgId}, i.opened_at - make_interval(secs => n), 'usr_1', 'ann', 'uptime.monitor.update', 'mon_1', '{}'
        from generate_series(1, 300) n, oncall.incident i where i.id = ${id}`;
    // Ids are in order of time.
    await run(tx)`update oncall.incident set opened_at = opened_at + interval '1 minute' where id = ${id}`;
  });
  const story = await made(owner.get(`/oncall/incidents/${id}/story`));
  assert.equal(story.truncated, true);
  assert.equal(story.entries.length, 1000);
  assert.equal(story.entries[0].kind, 'opened');
  assert.equal(story.entries.at(-1).title, 'entry 1500');
  assert.ok(!story.entries.some(({ title }: { title: string }) => title === 'entry 700'), 'the middle is left out');
  assert.equal(story.before.length, 200);

  const short = await made(owner.post('/oncall/incidents', { serviceId, title: 'short' }));
  await qd.app.db.write((tx) => run(tx)`delete from kernel.audit where actor = 'usr_1'`);
  assert.equal((await made(owner.get(`/oncall/incidents/${short.id}/story`))).truncated, false);
});
